"""Public names of the originals without a row in bench_calls, and why; a test finds names that have neither."""

BASE = "a base class"
MAPPING = "a method of Python's mappings"

REASONS: dict[str, dict[str, str]] = {
    "tokenizers": {
        "Tokenizer.from_pretrained": "asks the hub; what follows is from_file",
        "normalizers.Precompiled": "part of the rows of t5",
        "pre_tokenizers.PreTokenizer": BASE,
        "decoders.Decoder": BASE,
        "processors.PostProcessor": BASE,
        "models.Model": BASE,
        "trainers.Trainer": BASE,
        "implementations.BaseTokenizer": BASE,
    },
    "transformers": {
        "PreTrainedTokenizerFast.SPECIAL_TOKENS_ATTRIBUTES": "a constant",
        "PreTrainedTokenizerFast.save_vocabulary": "refused where there is only a tokenizer.json",
        "PreTrainedTokenizerFast.slow_tokenizer_class": "a constant",
        "PreTrainedTokenizerFast.decoder": "an object of the tokenizers package",
        "BatchEncoding.clear": MAPPING,
        "BatchEncoding.fromkeys": MAPPING,
        "BatchEncoding.pop": MAPPING,
        "BatchEncoding.popitem": MAPPING,
        "BatchEncoding.setdefault": MAPPING,
        "BatchEncoding.update": MAPPING,
    },
    "sentencepiece": {},
    "tiktoken": {},
    "gensim": {"KeyedVectors.wmdistance": "gensim needs the package POT for it"},
}
"""Library → class and name → why there is no row."""
