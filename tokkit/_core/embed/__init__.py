"""Training of word vectors from numbered sentences, and files of vectors."""
