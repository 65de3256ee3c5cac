"""The embedding matrix of a tokenizer, one row per id: random, or from word vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokkit.embeddings.neighbours import Neighbours
from tokkit.errors import OptionError
from tokkit.nn import Embedding

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

SHORTEST_PIECE = 2
"""The minimum characters of a piece, because vectors of single letters are not informative."""
LONGEST_PIECE = 40


class EmbeddingMatrix(NamedTuple):
    """A matrix (n_ids, dim) and the source of its rows: ids whose token has a vector, whose pieces have, or neither.

    The ids are in ascending order; special tokens and ids without a token are in `random`.
    """

    weight: NDArray[np.float32]
    whole: list[int]
    from_pieces: list[int]
    random: list[int]

    @property
    def coverage(self) -> float:
        """The share of ids that are not random, 0 to 1."""
        return 1 - len(self.random) / len(self.weight) if len(self.weight) else 0.0


def random_matrix(
    tokenizer: Tokenizer, dim: int, *, seed: int, init: str = "normal", std: float = 0.02
) -> NDArray[np.float32]:
    """Return a random matrix (n_ids, dim) for a tokenizer: normal with deviation `std`, or "xavier" (uniform).

    OptionError for a `dim` below 1 or another `init`. `nn.Embedding` takes the matrix.
    """
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer)) or dim < 1:
        raise OptionError(f"dim is {dim!r}; it must be an int of at least 1")
    weight = Embedding.random(tokenizer.n_ids, int(dim), seed=seed, init=init, std=std).weight
    return np.asarray(weight, dtype=np.float32)


def embedding_matrix(
    tokenizer: Tokenizer,
    words: Neighbours,
    *,
    seed: int,
    lowercase: bool = True,
    pieces: bool = True,
    init: str = "normal",
    std: float = 0.02,
) -> EmbeddingMatrix:
    """Return the matrix of a tokenizer, with the vectors of words in the rows of equal tokens.

    A token is compared without word markers: spaces, ▁, ## and </w>; with `lowercase` a token without a vector gets
    that of its lower case. With `pieces` other tokens get the mean of the vectors of their pieces: from left to right
    the longest keys of at least 2 characters. The remaining rows are those of `random_matrix`. fastText vectors cover
    every token.

    >>> import tokkit
    >>> from tokkit.embeddings import KeyedVectors
    >>> tokenizer = tokkit.train(iter(["low lower"] * 9), vocab_size=260)
    >>> words = KeyedVectors.of(["low"], np.ones((1, 4), dtype=np.float32))
    >>> made = embedding_matrix(tokenizer, words, seed=0)
    >>> [tokenizer.decode([id_]) for id_ in made.whole]
    ['low', ' low']
    """
    weight = random_matrix(tokenizer, words.vector_size, seed=seed, init=init, std=std)
    special = set(tokenizer.special_tokens.values())
    made = EmbeddingMatrix(weight, [], [], [])
    longest = min(LONGEST_PIECE, max((len(str(key)) for key in words.key_to_index), default=0))
    for token, id_ in sorted(tokenizer.vocab.items(), key=lambda item: item[1]):
        text = "" if id_ in special else word_of(token)
        known = next((key for key in (text, text.lower() if lowercase else text) if key and key in words), None)
        if known is not None:
            weight[id_] = words.get_vector(known)
            made.whole.append(id_)
        elif pieces and (found := _pieces(text.lower() if lowercase else text, words, longest)):
            weight[id_] = words.get_mean_vector(found, pre_normalize=False)
            made.from_pieces.append(id_)
    filled = set(made.whole) | set(made.from_pieces)
    made.random.extend(id_ for id_ in range(len(weight)) if id_ not in filled)
    return made


def word_of(token: bytes) -> str:
    """Return the text of a token without word markers.

    >>> [word_of(token) for token in (b" low", b"##er", "▁new".encode(), b"est</w>")]
    ['low', 'er', 'new', 'est']
    """
    text = token.decode("utf-8", "replace").replace("▁", " ").strip(" ")
    return text.removeprefix("##").removesuffix("</w>")


def _pieces(text: str, words: Neighbours, longest: int) -> list[str]:
    """Return the longest keys in a text from left to right; positions without a key are skipped."""
    found, at = [], 0
    while at < len(text):
        for end in range(min(len(text), at + longest), at + SHORTEST_PIECE - 1, -1):
            if text[at:end] in words.key_to_index:
                found.append(text[at:end])
                at = end
                break
        else:
            at += 1
    return found
