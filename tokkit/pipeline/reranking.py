"""The methods of all rerankers: scores of pairs, and documents ranked by their scores."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from tokkit.checks import ordered
from tokkit.errors import OptionError

if TYPE_CHECKING:
    from tokkit._core.text import Text

Floats = NDArray[np.float32]
Activation = str | Callable[[Floats], Floats]
Pair = Sequence["Text"]
TEXT = (str, bytes, bytearray, memoryview)


class Ranked(TypedDict, total=False):
    """A document as `rank` returns it: its index in the list, its score and, if requested, its text."""

    corpus_id: int
    score: float
    text: Any


def sigmoid(x: Floats) -> Floats:
    """Return 1 / (1 + e^-x), exact for small values too, so that the order of scores is kept."""
    made: Floats = np.exp(-np.logaddexp(np.float32(0), -x))
    return made


ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda x: x, "sigmoid": sigmoid, "tanh": np.tanh,
}  # fmt: skip
"""The name of an activation (in torch with a capital) → its function of logits."""


def activation_of(chosen: Activation) -> Callable[[Floats], Floats]:
    """Return the activation with a name; OptionError if it is unknown."""
    if callable(chosen):
        return chosen
    if chosen not in ACTIVATIONS:
        raise OptionError(f"activation_fn is {chosen!r}; it must be a function, or one of {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS[chosen]


def pairs_of(inputs: Pair | Sequence[Pair]) -> tuple[list[Text], list[Text], bool]:
    """Return the first texts, the second texts, and whether a single pair was given.

    >>> pairs_of([("query", "a"), ("query", "b")])
    (['query', 'query'], ['a', 'b'], False)
    """
    inputs = list(ordered(inputs, "inputs", "pairs"))
    is_one = len(inputs) > 0 and isinstance(inputs[0], TEXT)
    pairs = cast("Sequence[Pair]", [inputs] if is_one else inputs)
    for i, pair in enumerate(pairs):
        if isinstance(pair, TEXT) or not isinstance(pair, Sequence):
            raise TypeError(f"input {i} is {type(pair).__name__}; it must be a pair of texts")
        if len(pair) != 2:
            raise OptionError(f"input {i} has {len(pair)} texts; it must be a pair: (query, document)")
        for text in pair:
            if not isinstance(text, TEXT):
                raise TypeError(f"input {i} holds {type(text).__name__}; it must be str or bytes")
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs], is_one


class Reranker(abc.ABC):
    """Scores how well a document answers a query; the model reads both together."""

    @property
    @abc.abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The names of the labels; a model that ranks has one."""

    @abc.abstractmethod
    def predict(
        self,
        inputs: Pair | Sequence[Pair],
        *,
        activation_fn: Activation | None = None,
        apply_softmax: bool = False,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        prompt: str | None = None,
        prompt_name: str | None = None,
    ) -> Any:
        """Return the scores of pairs of texts."""

    def rank(
        self,
        query: Text,
        documents: Sequence[Text],
        top_k: int | None = None,
        return_documents: bool = False,
        *,
        activation_fn: Activation | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        prompt: str | None = None,
        prompt_name: str | None = None,
    ) -> list[Ranked]:
        """Return documents sorted by their scores for a query, the best first: `top_k` of them, or all.

        Each is a dict with "corpus_id", its index in `documents`, "score" and, with `return_documents`, "text". Equal
        scores keep the order of `documents`. The other options are those of `predict`. OptionError for a model with
        several labels, because none of them is the score.
        """
        if len(self.labels) != 1:
            raise OptionError(
                f"rank needs a model with one label, the score; this one has {', '.join(self.labels)}: use predict"
            )
        if top_k is not None and (isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1):
            raise OptionError(f"top_k is {top_k!r}; it must be an int of at least 1, or None for all")
        documents = list(ordered(documents, "documents"))
        scores = self.predict(
            [(query, document) for document in documents], activation_fn=activation_fn, threads=threads,
            progress=progress, prompt=prompt, prompt_name=prompt_name,
        )  # fmt: skip
        ranked: list[Ranked] = []
        for i in np.argsort(-scores, kind="stable")[:top_k].tolist():
            found: Ranked = {"corpus_id": i, "score": float(scores[i])}
            if return_documents:
                found["text"] = documents[i]
            ranked.append(found)
        return ranked
