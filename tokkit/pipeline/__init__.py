"""Runs saved models on text: `load` a folder, encode sentences, read hidden states, fill masks, distill."""

from tokkit import lazy

_MODULES = {
    "EncoderModel": "tokkit.pipeline.encoder_model",
    "FillMaskResult": "tokkit.pipeline.encoder_model",
    "HiddenStates": "tokkit.pipeline.encoder_model",
    "SentenceEncoder": "tokkit.pipeline.sentences",
    "StaticEncoder": "tokkit.pipeline.static",
    "distill": "tokkit.pipeline.distillation",
    "load": "tokkit.pipeline.loading",
}
__all__ = sorted(_MODULES)
__getattr__ = lazy.names(__name__, _MODULES, renamed={"Guess": "FillMaskResult", "Inside": "HiddenStates"})
__dir__ = __all__.copy
