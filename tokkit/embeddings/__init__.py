"""Static word vectors: word2vec, GloVe, fastText and count-based methods train them, KeyedVectors looks them up.

Input: sentences or files. Output: vectors. Begin with vocabulary.py and word2vec.py (training), and with
keyed_vectors.py (the result).
"""

from typing import TYPE_CHECKING

from tokkit import lazy

if TYPE_CHECKING:
    from tokkit.embeddings.association import pmi as pmi
    from tokkit.embeddings.association import ppmi as ppmi
    from tokkit.embeddings.cooccurrence import count_cooccurrence as count_cooccurrence
    from tokkit.embeddings.factorization import TruncatedSVD as TruncatedSVD
    from tokkit.embeddings.factorization import lsa as lsa
    from tokkit.embeddings.factorization import truncated_svd as truncated_svd
    from tokkit.embeddings.fasttext import FastText as FastText
    from tokkit.embeddings.fasttext_supervised import TextClassifier as TextClassifier
    from tokkit.embeddings.fasttext_supervised import train_supervised as train_supervised
    from tokkit.embeddings.glove import GloVe as GloVe
    from tokkit.embeddings.keyed_vectors import KeyedVectors as KeyedVectors
    from tokkit.embeddings.matrices import EmbeddingMatrix as EmbeddingMatrix
    from tokkit.embeddings.matrices import embedding_matrix as embedding_matrix
    from tokkit.embeddings.matrices import random_matrix as random_matrix
    from tokkit.embeddings.phrases import FrozenPhrases as FrozenPhrases
    from tokkit.embeddings.phrases import Phrases as Phrases
    from tokkit.embeddings.sparse import SparseMatrix as SparseMatrix
    from tokkit.embeddings.sparse import one_hot as one_hot
    from tokkit.embeddings.tfidf import TfIdf as TfIdf
    from tokkit.embeddings.tfidf import count_terms as count_terms
    from tokkit.embeddings.training_ids import TrainingIds as TrainingIds
    from tokkit.embeddings.training_pairs import training_pairs as training_pairs
    from tokkit.embeddings.vocabulary import Vocabulary as Vocabulary
    from tokkit.embeddings.word2vec import Word2Vec as Word2Vec

_MODULES = {
    "EmbeddingMatrix": "tokkit.embeddings.matrices",
    "FastText": "tokkit.embeddings.fasttext",
    "FrozenPhrases": "tokkit.embeddings.phrases",
    "GloVe": "tokkit.embeddings.glove",
    "KeyedVectors": "tokkit.embeddings.keyed_vectors",
    "Phrases": "tokkit.embeddings.phrases",
    "SparseMatrix": "tokkit.embeddings.sparse",
    "TextClassifier": "tokkit.embeddings.fasttext_supervised",
    "TfIdf": "tokkit.embeddings.tfidf",
    "TrainingIds": "tokkit.embeddings.training_ids",
    "TruncatedSVD": "tokkit.embeddings.factorization",
    "Vocabulary": "tokkit.embeddings.vocabulary",
    "Word2Vec": "tokkit.embeddings.word2vec",
    "count_cooccurrence": "tokkit.embeddings.cooccurrence",
    "count_terms": "tokkit.embeddings.tfidf",
    "embedding_matrix": "tokkit.embeddings.matrices",
    "lsa": "tokkit.embeddings.factorization",
    "one_hot": "tokkit.embeddings.sparse",
    "pmi": "tokkit.embeddings.association",
    "ppmi": "tokkit.embeddings.association",
    "random_matrix": "tokkit.embeddings.matrices",
    "train_supervised": "tokkit.embeddings.fasttext_supervised",
    "training_pairs": "tokkit.embeddings.training_pairs",
    "truncated_svd": "tokkit.embeddings.factorization",
}
__all__ = sorted(_MODULES)
__getattr__ = lazy.names(__name__, _MODULES)
__dir__ = __all__.copy
