"""Runs saved models on text: from a folder of weights to vectors, scores, labels, filled masks or generated text.

Begin with `load` in loading.py. encoder_model.py runs encoders, sentences.py makes vectors, distillation.py makes them
static; classifier_model.py runs heads: cross_encoder.py for texts and pairs, token_classifier.py for tokens;
text_generator.py runs decoders, seq2seq_generator.py encoders with decoders.
"""

from typing import TYPE_CHECKING

from tokkit import lazy

if TYPE_CHECKING:
    from tokkit.pipeline.adapters import merge_adapter as merge_adapter
    from tokkit.pipeline.causal_model import NextToken as NextToken
    from tokkit.pipeline.classifier_training import train_classifier as train_classifier
    from tokkit.pipeline.cross_encoder import CrossEncoder as CrossEncoder
    from tokkit.pipeline.decoder_reranker import DecoderReranker as DecoderReranker
    from tokkit.pipeline.distillation import distill as distill
    from tokkit.pipeline.encoder_model import EncoderModel as EncoderModel
    from tokkit.pipeline.encoder_model import FillMaskResult as FillMaskResult
    from tokkit.pipeline.encoder_model import HiddenStates as HiddenStates
    from tokkit.pipeline.finetuning import FineTuneOptions as FineTuneOptions
    from tokkit.pipeline.finetuning import train_pairs as train_pairs
    from tokkit.pipeline.generation_options import GenerationOptions as GenerationOptions
    from tokkit.pipeline.lm_training import LMOptions as LMOptions
    from tokkit.pipeline.lm_training import train_lm as train_lm
    from tokkit.pipeline.loading import load as load
    from tokkit.pipeline.masked_training import train_masked_lm as train_masked_lm
    from tokkit.pipeline.memory import MemoryEstimate as MemoryEstimate
    from tokkit.pipeline.prompt_cache import PromptCache as PromptCache
    from tokkit.pipeline.quantizing import quantize as quantize
    from tokkit.pipeline.sentences import SentenceEncoder as SentenceEncoder
    from tokkit.pipeline.seq2seq_generator import Seq2SeqGenerator as Seq2SeqGenerator
    from tokkit.pipeline.static import StaticEncoder as StaticEncoder
    from tokkit.pipeline.text_generator import Generated as Generated
    from tokkit.pipeline.text_generator import TextGenerator as TextGenerator
    from tokkit.pipeline.token_classifier import TokenClassifier as TokenClassifier
    from tokkit.pipeline.training_loop import TrainedModel as TrainedModel
    from tokkit.pipeline.training_loop import TrainingProgress as TrainingProgress

_MODULES = {
    "CrossEncoder": "tokkit.pipeline.cross_encoder",
    "DecoderReranker": "tokkit.pipeline.decoder_reranker",
    "EncoderModel": "tokkit.pipeline.encoder_model",
    "FillMaskResult": "tokkit.pipeline.encoder_model",
    "FineTuneOptions": "tokkit.pipeline.finetuning",
    "Generated": "tokkit.pipeline.text_generator",
    "GenerationOptions": "tokkit.pipeline.generation_options",
    "HiddenStates": "tokkit.pipeline.encoder_model",
    "LMOptions": "tokkit.pipeline.lm_training",
    "MemoryEstimate": "tokkit.pipeline.memory",
    "NextToken": "tokkit.pipeline.causal_model",
    "PromptCache": "tokkit.pipeline.prompt_cache",
    "SentenceEncoder": "tokkit.pipeline.sentences",
    "Seq2SeqGenerator": "tokkit.pipeline.seq2seq_generator",
    "StaticEncoder": "tokkit.pipeline.static",
    "TextGenerator": "tokkit.pipeline.text_generator",
    "TokenClassifier": "tokkit.pipeline.token_classifier",
    "TrainedModel": "tokkit.pipeline.training_loop",
    "TrainingProgress": "tokkit.pipeline.training_loop",
    "distill": "tokkit.pipeline.distillation",
    "load": "tokkit.pipeline.loading",
    "merge_adapter": "tokkit.pipeline.adapters",
    "quantize": "tokkit.pipeline.quantizing",
    "train_classifier": "tokkit.pipeline.classifier_training",
    "train_lm": "tokkit.pipeline.lm_training",
    "train_masked_lm": "tokkit.pipeline.masked_training",
    "train_pairs": "tokkit.pipeline.finetuning",
}
__all__ = sorted(_MODULES)
__getattr__ = lazy.names(__name__, _MODULES, renamed={"Guess": "FillMaskResult", "Inside": "HiddenStates"})
__dir__ = __all__.copy
