"""Defaults of transformers' tokenizer classes: special tokens, inputs and padding side."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Assumed(NamedTuple):
    """Special tokens by role, names of inputs, the padding side, and the suffix of words in decoded text.

    `around` are templates for a text and a pair, in roles, for folders without a tokenizer.json.
    """

    roles: Mapping[str, str] = MappingProxyType({})
    inputs: tuple[str, ...] = ("input_ids", "attention_mask")
    side: str = "right"
    word_end: str = ""
    around: tuple[str, str] | None = None


def _roles(**roles: str) -> dict[str, str]:
    return {f"{role}_token": token for role, token in roles.items()}


_TYPES = ("input_ids", "token_type_ids", "attention_mask")
_SQUARE = _roles(unk="[UNK]", sep="[SEP]", pad="[PAD]", cls="[CLS]", mask="[MASK]")
_BART = _roles(bos="<s>", eos="</s>", unk="<unk>", sep="</s>", pad="<pad>", cls="<s>", mask="<mask>")
_END = "<|endoftext|>"
_AS_BART = ("cls $A sep", "cls $A sep sep $B sep")
_AS_BERT = ("cls $A sep", "cls $A sep $B:1 sep:1")
_AS_LLAMA = ("bos $A", "bos $A bos:1 $B:1")
_AS_XLNET = ("$A sep cls:2", "$A sep $B:1 sep:1 cls:2")
_SQUARE_ENDS = {**_roles(bos="[CLS]", eos="[SEP]"), **_SQUARE}
_GPT2 = _roles(bos=_END, eos=_END, unk=_END)

CLASSES: dict[str, Assumed] = {
    **dict.fromkeys(
        ("BertTokenizer", "ElectraTokenizer", "LxmertTokenizer", "MobileBertTokenizer"), Assumed(_SQUARE, _TYPES)
    ),
    **dict.fromkeys(("DistilBertTokenizer", "RoFormerTokenizer", "SplinterTokenizer"), Assumed(_SQUARE)),
    **dict.fromkeys(
        ("RobertaTokenizer", "BartTokenizer", "CamembertTokenizer", "LEDTokenizer"), Assumed(_BART, around=_AS_BART)
    ),
    **dict.fromkeys(
        ("MBartTokenizer", "NllbTokenizer", "XLMRobertaTokenizer", "LukeTokenizer"), Assumed(_BART, around=_AS_BART)
    ),
    **dict.fromkeys(("MvpTokenizer", "BarthezTokenizer"), Assumed(_BART, around=_AS_BART)),
    **dict.fromkeys(("GPT2Tokenizer", "WhisperTokenizer", "CodeGenTokenizer"), Assumed(_GPT2)),
    **dict.fromkeys(
        ("LlamaTokenizer", "CodeLlamaTokenizer"),
        Assumed(_roles(bos="<s>", eos="</s>", unk="<unk>"), side="left", around=_AS_LLAMA),
    ),
    **dict.fromkeys(("Qwen2Tokenizer",), Assumed(_roles(eos=_END, unk=_END, pad=_END))),
    **dict.fromkeys(
        ("AlbertTokenizer", "RemBertTokenizer"),
        Assumed({**_SQUARE_ENDS, **_roles(unk="<unk>", pad="<pad>")}, around=_AS_BERT),
    ),
    **dict.fromkeys(
        ("DebertaTokenizer", "DebertaV2Tokenizer"),
        Assumed(_SQUARE_ENDS, ("input_ids", "attention_mask", "token_type_ids")),
    ),
    "CLIPTokenizer": Assumed(_roles(bos="<|startoftext|>", eos=_END, unk=_END, pad=_END), word_end="</w>"),
    "GPTNeoXTokenizer": Assumed({**_GPT2, **_roles(pad="<|padding|>")}),
    "GemmaTokenizer": Assumed(_roles(bos="<bos>", eos="<eos>", unk="<unk>", pad="<pad>", mask="<mask>"), side="left"),
    "T5Tokenizer": Assumed(_roles(eos="</s>", unk="<unk>", pad="<pad>"), around=("$A eos", "$A eos $B eos")),
    "MPNetTokenizer": Assumed({**_BART, "unk_token": "[UNK]"}, around=_AS_BART),
    "OpenAIGPTTokenizer": Assumed(_roles(unk="<unk>")),
    "XLNetTokenizer": Assumed({**_BART, **_roles(sep="<sep>", cls="<cls>")}, side="left", around=_AS_XLNET),
}
"""Class → its defaults; other classes have none."""

AS = {
    **dict.fromkeys(("BartTokenizer", "LEDTokenizer"), "RobertaTokenizer"),
    **dict.fromkeys(
        ("DistilBertTokenizer", "ElectraTokenizer", "LxmertTokenizer", "MobileBertTokenizer"), "BertTokenizer"
    ),
}
"""Class → the class whose pipeline it builds from a vocabulary."""

MODELS: dict[str, tuple[str, ...]] = {
    "BertTokenizer": (
        "bert",
        "distilbert",
        "electra",
        "ernie",
        "layoutlm",
        "megatron-bert",
        "nomic_bert",
        "squeezebert",
    ),
    "GPT2Tokenizer": ("gpt2", "gptj", "gpt_neo", "opt", "codegen", "phi", "starcoder2", "dbrx"),
    "RobertaTokenizer": ("roberta", "roberta-prelayernorm", "bart", "longformer", "ibert", "data2vec-text"),
    "XLMRobertaTokenizer": ("xlm-roberta", "xmod", "gte", "jina_embeddings_v3"),
    "GPTNeoXTokenizer": ("gpt_neox", "mamba", "mamba2", "mpt", "olmo", "olmoe", "rwkv"),
    "Qwen2Tokenizer": ("qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "qwen3", "qwen3_moe", "qwen3_vl"),
    "GemmaTokenizer": ("gemma", "gemma2", "gemma3", "gemma3_text", "gemma3n", "t5gemma"),
    "T5Tokenizer": ("t5", "mt5", "switch_transformers", "musicgen"),
    "CLIPTokenizer": ("clip", "clipseg", "owlvit", "owlv2"),
    "AlbertTokenizer": ("albert", "yoso"),
    "DebertaTokenizer": ("deberta",),
    "DebertaV2Tokenizer": ("deberta-v2",),
    "WhisperTokenizer": ("whisper",),
    "XLNetTokenizer": ("xlnet",),
    "MPNetTokenizer": ("mpnet",),
}
"""Class → model types (of config.json) that use it if tokenizer_config.json does not name a class."""


def name_of(given: object, model_type: object = None) -> str:
    """Return the class that tokenizer_config.json names, or that of the model type in config.json; "" if unknown."""
    if isinstance(given, str):
        name = given.removesuffix("Fast")
        return name if name in CLASSES else ""
    return next((name for name, types in MODELS.items() if model_type in types), "")
