"""Loads the model that a command is given, and says what it needs where it is given another kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokkit.errors import OptionError
from tokkit.escaping import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokkit.pipeline import CrossEncoder, SentenceEncoder, StaticEncoder, TextGenerator, TokenClassifier
    from tokkit.pipeline.reranking import Reranker

KINDS = {
    "SentenceEncoder": "an encoder", "StaticEncoder": "static vectors", "TextGenerator": "a causal language model",
    "Seq2SeqGenerator": "an encoder–decoder", "CrossEncoder": "a cross-encoder or classifier of texts",
    "TokenClassifier": "a classifier of tokens",
}  # fmt: skip
"""Class of tokkit.pipeline → what such a model is called."""


def load_vectors(model: str, **options: Any) -> SentenceEncoder | StaticEncoder:
    """Return a model that makes vectors of texts; OptionError for one that does not."""
    made: SentenceEncoder | StaticEncoder = _load(model, ("SentenceEncoder", "StaticEncoder"), options)
    return made


def load_encoder(model: str, **options: Any) -> SentenceEncoder:
    """Return a model whose vectors depend on the text around a word; OptionError for another kind."""
    made: SentenceEncoder = _load(model, ("SentenceEncoder",), options)
    return made


def load_layers(model: str, **options: Any) -> SentenceEncoder | TextGenerator:
    """Return a model that has layers to look into; OptionError for one of static vectors."""
    kinds = ("SentenceEncoder", "TextGenerator", "CrossEncoder", "TokenClassifier")
    made: SentenceEncoder | TextGenerator = _load(model, kinds, options)
    return made


def load_reranker(model: str, *, instruction: str | None = None, **options: Any) -> Reranker:
    """Return a model that scores pairs of texts; OptionError for another kind, or one of several labels.

    `instruction` is for causal language models that answer whether a document meets a query.
    """
    from tokkit.pipeline import DecoderReranker, TextGenerator

    made = _load(model, ("CrossEncoder", "TextGenerator"), options)
    if isinstance(made, TextGenerator):
        return DecoderReranker(made, **({} if instruction is None else {"instruction": instruction}))
    if instruction is not None:
        raise OptionError(f"{show(model)} holds {KINDS['CrossEncoder']}, which reads no instruction; leave it out")
    found: CrossEncoder = made
    if len(found.labels) != 1:
        labels = ", ".join(map(show, found.labels))
        raise OptionError(f"{show(model)} tells the labels {labels} apart; to rank, a model needs one label, the score")
    return found


def load_classifier(model: str, **options: Any) -> CrossEncoder:
    """Return a model that gives texts labels; OptionError for another kind."""
    made: CrossEncoder = _load(model, ("CrossEncoder",), options)
    return made


def load_tagger(model: str, **options: Any) -> TokenClassifier:
    """Return a model that gives tokens labels; OptionError for another kind."""
    made: TokenClassifier = _load(model, ("TokenClassifier",), options)
    return made


def load_generator(model: str, *, causal: bool = False, **options: Any) -> TextGenerator:
    """Return a model that generates text, with `causal` one that continues a text; OptionError for another kind."""
    kinds = ("TextGenerator",) if causal else ("TextGenerator", "Seq2SeqGenerator")
    made: TextGenerator = _load(model, kinds, options)
    return made


def load_served(
    models: Sequence[str], **options: Any
) -> tuple[TextGenerator | None, SentenceEncoder | StaticEncoder | None]:
    """Return the decoder and the encoder among models; OptionError for two of a kind."""
    from tokkit import pipeline

    generator: TextGenerator | None = None
    encoder: SentenceEncoder | StaticEncoder | None = None
    for model in models:
        made = _load(model, ("TextGenerator", "SentenceEncoder", "StaticEncoder"), options)
        if isinstance(made, pipeline.TextGenerator):
            if generator is not None:
                raise OptionError(f"{show(model)} is the second decoder; a server has one decoder and one encoder")
            generator = made
        elif encoder is not None:
            raise OptionError(f"{show(model)} is the second encoder; a server has one decoder and one encoder")
        else:
            encoder = made
    return generator, encoder


def _load(model: str, wanted: tuple[str, ...], options: dict[str, Any]) -> Any:
    from tokkit import pipeline

    made = pipeline.load(model, **options)
    kind = type(made).__name__
    if kind in KINDS and kind not in wanted:
        needed = " or ".join(KINDS[name] for name in wanted)
        raise OptionError(f"{show(model)} holds {KINDS[kind]}; this command needs {needed}")
    return made
