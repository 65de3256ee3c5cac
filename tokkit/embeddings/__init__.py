"""Static vectors from ids: counts, word2vec, GloVe and fastText train them, KeyedVectors looks them up.

Begin reading with vocabulary.py and word2vec.py (training), and with keyed_vectors.py (what comes out).
"""

from tokkit import lazy

_MODULES = {
    "GloVe": "tokkit.embeddings.glove",
    "SparseMatrix": "tokkit.embeddings.sparse",
    "TfIdf": "tokkit.embeddings.tfidf",
    "TruncatedSVD": "tokkit.embeddings.factorization",
    "count_cooccurrence": "tokkit.embeddings.cooccurrence",
    "count_terms": "tokkit.embeddings.tfidf",
    "lsa": "tokkit.embeddings.factorization",
    "one_hot": "tokkit.embeddings.sparse",
    "pmi": "tokkit.embeddings.association",
    "ppmi": "tokkit.embeddings.association",
    "truncated_svd": "tokkit.embeddings.factorization",
    "FastText": "tokkit.embeddings.fasttext",
    "KeyedVectors": "tokkit.embeddings.keyed_vectors",
    "EmbeddingMatrix": "tokkit.embeddings.matrices",
    "embedding_matrix": "tokkit.embeddings.matrices",
    "random_matrix": "tokkit.embeddings.matrices",
    "FrozenPhrases": "tokkit.embeddings.phrases",
    "Phrases": "tokkit.embeddings.phrases",
    "TrainingIds": "tokkit.embeddings.training_ids",
    "Vocabulary": "tokkit.embeddings.vocabulary",
    "Word2Vec": "tokkit.embeddings.word2vec",
    "training_pairs": "tokkit.embeddings.training_pairs",
    "TextClassifier": "tokkit.embeddings.fasttext_supervised",
    "train_supervised": "tokkit.embeddings.fasttext_supervised",
}
__all__ = sorted(_MODULES)
__getattr__ = lazy.names(__name__, _MODULES)
__dir__ = __all__.copy
