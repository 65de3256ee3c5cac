"""Counted words → vocabularies: BPE, WordPiece, Unigram. Begin with training.pyx and word_counts.pyx."""
