"""`CrossEncoder`: scores of pairs of texts and labels of texts, from an encoder that reads both texts together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from tokkit import nn
from tokkit.errors import FormatError, OptionError
from tokkit.files.strict_json import brief
from tokkit.nn import softmax
from tokkit.pipeline import modules
from tokkit.pipeline.classifier_model import BATCH_TEXTS, BATCH_TOKENS, ClassifierModel, check_batch_tokens
from tokkit.pipeline.reranking import ACTIVATIONS, Activation, Floats, Pair, Reranker, activation_of, pairs_of, sigmoid
from tokkit.pipeline.texts import chosen_prompt, listed, with_prompt

if TYPE_CHECKING:
    from tokkit._core.text import Text
    from tokkit.engine.special_tokens import Special

FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {"softmax": softmax, "sigmoid": sigmoid, "none": lambda x: x}
"""The functions that `classify` can apply to logits."""


class Classified(TypedDict):
    """A label of a text and its score."""

    label: str
    score: float


class CrossEncoder(ClassifierModel, Reranker):
    """An encoder with a head that scores pairs of texts or classifies texts; `tokkit.pipeline.load` creates it.

    The names of `predict` and `rank` are those of sentence-transformers, and `classify` returns what the pipeline
    "text-classification" of transformers does.

    >>> from tokkit import pipeline
    >>> model = pipeline.load("ms-marco-MiniLM-L6-v2/")  # doctest: +SKIP
    >>> model.rank("Where do herons fish?", ["At the bank.", "In the river."])  # doctest: +SKIP
    [{'corpus_id': 1, 'score': 4.83}, {'corpus_id': 0, 'score': -2.17}]
    """

    def __init__(self, *args: Any, config: Mapping[str, Any], **options: Any) -> None:
        super().__init__(*args, **options)
        said = modules.read_json(self.folder / "config_sentence_transformers.json", {})
        prompts = modules.of_prompts(self.folder)
        self._prompts, self._default_prompt = prompts["prompts"], prompts["default_prompt"]
        self._activation = _activation(config, said, len(self.labels))
        self._problem = config.get("problem_type")

    def _identifying(self) -> list[Path]:
        path = self.folder / "config_sentence_transformers.json"
        return super()._identifying() + [path] * path.is_file()

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
        batch_tokens: int = BATCH_TOKENS,
        special: Special = "all",
    ) -> Any:
        """Return the scores of pairs (query, document), float32 (n), or (n, labels) of several labels.

        Of one pair, its score.

        A pair that is too long is truncated, its longer text first; a warning is logged for the first such pair.
        `activation_fn` ("sigmoid", "identity", "tanh", or a function of an array) is applied to the logits: by default
        the one in the folder, else the sigmoid for one label, and the identity for several. `apply_softmax` makes the
        scores of several labels of a pair add up to 1. `prompt`, or the folder's prompt of the name `prompt_name`, is
        put before the first text of each pair; by default the default prompt of the folder, if it has one.

        `threads`, `batch_tokens`, `special` and `progress` are as in `SentenceEncoder.encode`. Raises TypeError for
        values that are not text, OptionError for values that are not pairs and invalid options.
        """
        change = activation_of(self._activation if activation_fn is None else activation_fn)
        first, second, is_one = pairs_of(inputs)
        first = with_prompt(first, chosen_prompt(prompt, prompt_name, self._prompts, self._default_prompt))
        scores = change(self._all(first, second, special, batch_tokens, threads, progress))
        if len(self.labels) == 1:
            scores = scores[:, 0]
        elif apply_softmax:
            scores = softmax(scores)
        return scores[0] if is_one else scores

    def classify(
        self,
        texts: Text | Sequence[Text],
        pairs: Text | Sequence[Text] | None = None,
        *,
        top_k: int | None = 1,
        function_to_apply: str | None = None,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        batch_tokens: int = BATCH_TOKENS,
        special: Special = "all",
    ) -> list[Any]:
        """Return the most probable label of a text, or of each of several, as a list of dicts with "label" and "score".

        `pairs` are the second texts for models that read two, such as entailment models. `top_k` labels are returned,
        the most probable first; None returns all. `function_to_apply` to the logits is "softmax", "sigmoid" or "none":
        by default the one in the configuration, "none" for a regression, "sigmoid" for one label or for a multi-label
        model, else "softmax".

        The other options are those of `predict`. Raises TypeError for values that are not text, OptionError for invalid
        options and for different numbers of texts and pairs.
        """
        if top_k is not None and (isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1):
            raise OptionError(f"top_k is {top_k!r}; it must be an int of at least 1, or None for all")
        if function_to_apply is not None and function_to_apply not in FUNCTIONS:
            raise OptionError(f"function_to_apply is {function_to_apply!r}; it must be one of {', '.join(FUNCTIONS)}")
        first, is_one = listed(texts)
        second = None if pairs is None else listed(pairs)[0]
        if second is not None and len(second) != len(first):
            raise OptionError(f"there are {len(first)} texts and {len(second)} pairs; each text needs one")
        logits = self._all(first, second, special, batch_tokens, threads, progress)
        function = function_to_apply or self._function
        scores = FUNCTIONS[function](logits)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :top_k].tolist()
        made: list[list[Classified]] = [
            [{"label": self.labels[i], "score": float(row[i])} for i in order]
            for row, order in zip(scores, best, strict=True)
        ]
        return made[0] if is_one else made

    @property
    def _function(self) -> str:
        if self._problem == "regression":
            return "none"
        return "sigmoid" if self._problem == "multi_label_classification" or len(self.labels) == 1 else "softmax"

    def _all(
        self, first: Sequence[Text], second: Sequence[Text] | None, special: Special, batch_tokens: int,
        threads: int | None, progress: Callable[[int, int], object] | None,
    ) -> Floats:  # fmt: skip
        check_batch_tokens(batch_tokens)
        made = np.empty((len(first), len(self.labels)), dtype=np.float32)
        with nn.threads(nn.current_threads() if threads is None else threads):
            for start in range(0, len(first), BATCH_TEXTS):
                some = slice(start, min(start + BATCH_TEXTS, len(first)))
                others = None if second is None else second[some]
                made[some] = self._logits_of(first[some], others, special, batch_tokens)
                if progress is not None:
                    progress(some.stop, len(first))
        return made


def _activation(config: Mapping[str, Any], said: Mapping[str, Any], n_labels: int) -> str:
    """Return the activation of a folder, from any of the keys that releases of sentence-transformers use."""
    places = (said.get("activation_fn"), (config.get("sentence_transformers") or {}).get("activation_fn"),
              config.get("sbert_ce_default_activation_function"))  # fmt: skip
    told = next((place for place in places if place is not None), None)
    if told is None:
        return "sigmoid" if n_labels == 1 else "identity"
    name = told.rpartition(".")[2].lower() if isinstance(told, str) else ""
    if name not in ACTIVATIONS:
        raise FormatError(
            f"the activation of scores {brief(told)} is not supported; it must be one of {', '.join(ACTIVATIONS)}"
        )
    return name
