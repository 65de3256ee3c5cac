"""Runs saved models on text: `load` a folder, encode sentences, read hidden states, fill masks, distill."""

from tokkit import lazy

_MODULES = {
    "EncoderModel": "tokkit.pipeline.encoder_model",
    "FillMaskResult": "tokkit.pipeline.encoder_model",
    "Generated": "tokkit.pipeline.text_generator",
    "HiddenStates": "tokkit.pipeline.encoder_model",
    "NextToken": "tokkit.pipeline.text_generator",
    "SentenceEncoder": "tokkit.pipeline.sentences",
    "StaticEncoder": "tokkit.pipeline.static",
    "TextGenerator": "tokkit.pipeline.text_generator",
    "distill": "tokkit.pipeline.distillation",
    "load": "tokkit.pipeline.loading",
}
__all__ = sorted(_MODULES)
__getattr__ = lazy.names(__name__, _MODULES, renamed={"Guess": "FillMaskResult", "Inside": "HiddenStates"})
__dir__ = __all__.copy
