"""Train, encode, decode, inspect and convert tokenizers, exactly and fast, on a CPU."""

from tokkit import lazy
from tokkit import moved as moved

_MODULES = {
    "AddedToken": "tokkit.definition",
    "AlignedEncodings": "tokkit.encoding.aligned_encodings",
    "BPE": "tokkit.models.bpe",
    "ChatError": "tokkit.errors",
    "CorpusError": "tokkit.errors",
    "Definition": "tokkit.definition",
    "DownloadError": "tokkit.errors",
    "Encoding": "tokkit.encoding",
    "FormatError": "tokkit.errors",
    "GrammarError": "tokkit.errors",
    "OptionError": "tokkit.errors",
    "Padding": "tokkit.encoding.length_rules",
    "PatternError": "tokkit.errors",
    "SameFileError": "tokkit.errors",
    "ShapeError": "tokkit.errors",
    "SpecialTokenError": "tokkit.errors",
    "Split": "tokkit.definition",
    "Tokenizer": "tokkit.tokenizer",
    "TokkitError": "tokkit.errors",
    "TrainingError": "tokkit.errors",
    "Truncation": "tokkit.encoding.length_rules",
    "Vocab": "tokkit.vocab",
    "VocabError": "tokkit.errors",
    "WorkerError": "tokkit.errors",
    "align": "tokkit.encoding.aligned_encodings",
    "convert": "tokkit.conversion",
    "encoding_for_model": "tokkit.registry",
    "from_tiktoken": "tokkit.compat.tiktoken.live",
    "from_tokenizers": "tokkit.compat.tokenizers.live",
    "from_transformers": "tokkit.compat.transformers.loading",
    "get_encoding": "tokkit.registry",
    "load": "tokkit.loading",
    "train": "tokkit.trainers",
    "__version__": "tokkit.version",
}
_PARTS = (
    "chat", "chunks", "compat", "conversion", "data", "decoders", "distributed", "embeddings", "grammars", "limits",
    "nn", "normalizers", "pipeline", "postprocessors", "pretokenizers", "search", "view",
)  # fmt: skip
__all__ = sorted(_MODULES)
__getattr__ = lazy.names(__name__, _MODULES, _PARTS, {"Mixed": "AlignedEncodings"})
__dir__ = [*__all__, *_PARTS].copy
