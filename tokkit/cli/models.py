"""Loads the model of a command; the error for an unsuitable model says what the command needs."""

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
    "Seq2SeqGenerator": "an encoder–decoder", "CrossEncoder": "a cross-encoder or text classifier",
    "TokenClassifier": "a token classifier",
}  # fmt: skip
"""Class of tokkit.pipeline → its name in messages."""


def load_vectors(model: str, **options: Any) -> SentenceEncoder | StaticEncoder:
    """Return a model that makes vectors of texts; OptionError for any other model."""
    made: SentenceEncoder | StaticEncoder = _load(model, ("SentenceEncoder", "StaticEncoder"), options)
    return made


def load_encoder(model: str, **options: Any) -> SentenceEncoder:
    """Return a model whose vectors depend on the context (an encoder); OptionError for any other model."""
    made: SentenceEncoder = _load(model, ("SentenceEncoder",), options)
    return made


def load_layers(model: str, **options: Any) -> SentenceEncoder | TextGenerator:
    """Return a model whose layers can be shown; OptionError for static vectors, which have none."""
    kinds = ("SentenceEncoder", "TextGenerator", "CrossEncoder", "TokenClassifier")
    made: SentenceEncoder | TextGenerator = _load(model, kinds, options)
    return made


def load_reranker(model: str, *, instruction: str | None = None, **options: Any) -> Reranker:
    """Return a model that scores pairs of texts; OptionError for any other model, or one with several labels.

    `instruction` is for causal language models that answer whether a document matches a query.
    """
    from tokkit.pipeline import DecoderReranker, TextGenerator

    made = _load(model, ("CrossEncoder", "TextGenerator"), options)
    if isinstance(made, TextGenerator):
        return DecoderReranker(made, **({} if instruction is None else {"instruction": instruction}))
    if instruction is not None:
        raise OptionError(f"{show(model)} holds {KINDS['CrossEncoder']}, which takes no instruction; leave it out")
    found: CrossEncoder = made
    if len(found.labels) != 1:
        labels = ", ".join(map(show, found.labels))
        raise OptionError(f"{show(model)} has the labels {labels}; to rank, a model must have one label, the score")
    return found


def load_classifier(model: str, **options: Any) -> CrossEncoder:
    """Return a text classifier; OptionError for any other model."""
    made: CrossEncoder = _load(model, ("CrossEncoder",), options)
    return made


def load_tagger(model: str, **options: Any) -> TokenClassifier:
    """Return a token classifier; OptionError for any other model."""
    made: TokenClassifier = _load(model, ("TokenClassifier",), options)
    return made


def load_generator(model: str, *, causal: bool = False, **options: Any) -> TextGenerator:
    """Return a model that generates text (with `causal`, only a causal one); OptionError for any other model."""
    kinds = ("TextGenerator",) if causal else ("TextGenerator", "Seq2SeqGenerator")
    made: TextGenerator = _load(model, kinds, options)
    return made


def load_served(
    models: Sequence[str], **options: Any
) -> tuple[TextGenerator | None, SentenceEncoder | StaticEncoder | None]:
    """Return the decoder and the encoder among models; OptionError for two decoders or two encoders."""
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
