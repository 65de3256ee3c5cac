"""Training: models with a forward and a backward pass, from token ids to a loss and the gradients of all weights.

`CausalLM`, `MaskedLM`, `TextClassifier` and `SentencePairs` compute the loss of a batch and its gradients; the
optimizers of `tokkit.nn.optim` update the weights. To read the code, begin with `causal_lm.py`, then `layers.py`,
`tape.py`, `attention.py` and `encoder.py`. `BatchNorm` is a layer for your own models.
"""

from tokkit.nn.grad.batch_norm import BatchNorm
from tokkit.nn.grad.causal_lm import CausalLM
from tokkit.nn.grad.encoder_config import EncoderConfig
from tokkit.nn.grad.lora import LoraOptions, with_lora
from tokkit.nn.grad.masked_lm import MaskedLM, mask_tokens
from tokkit.nn.grad.parameters import Parameters
from tokkit.nn.grad.sentence_pairs import SentencePairs
from tokkit.nn.grad.tape import Tape
from tokkit.nn.grad.text_classifier import ClassifierHead, HeadConfig, TextClassifier

__all__ = [
    "BatchNorm", "CausalLM", "ClassifierHead", "EncoderConfig", "HeadConfig", "LoraOptions", "MaskedLM", "Parameters",
    "SentencePairs", "Tape", "TextClassifier", "mask_tokens", "with_lora",
]  # fmt: skip
