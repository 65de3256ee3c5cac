"""Rows of the tokenizers package: components by themselves, trainers, and the tokenizers of `implementations`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.calls.equal import nothing
from benchmarks.calls.rows import USERS, Row

NORMALIZERS: dict[str, Callable[[Any], Any]] = {
    "BertNormalizer": lambda n: n.BertNormalizer(),
    "ByteLevel": lambda n: n.ByteLevel(),
    "Lowercase": lambda n: n.Lowercase(),
    "NFC": lambda n: n.NFC(),
    "NFD": lambda n: n.NFD(),
    "NFKC": lambda n: n.NFKC(),
    "NFKD": lambda n: n.NFKD(),
    "Nmt": lambda n: n.Nmt(),
    "Prepend": lambda n: n.Prepend("_"),
    "Replace": lambda n: n.Replace("the", "THE"),
    "Sequence": lambda n: n.Sequence([n.NFKC(), n.Lowercase(), n.Replace(" ", "_")]),
    "Strip": lambda n: n.Strip(),
    "StripAccents": lambda n: n.StripAccents(),
}
PRE_TOKENIZERS: dict[str, Callable[[Any], Any]] = {
    "BertPreTokenizer": lambda p: p.BertPreTokenizer(),
    "ByteLevel": lambda p: p.ByteLevel(),
    "CharDelimiterSplit": lambda p: p.CharDelimiterSplit(" "),
    "Digits": lambda p: p.Digits(True),
    "FixedLength": lambda p: p.FixedLength(5),
    "Metaspace": lambda p: p.Metaspace(),
    "Punctuation": lambda p: p.Punctuation(),
    "Sequence": lambda p: p.Sequence([p.Whitespace(), p.Digits()]),
    "Split": lambda p: p.Split(" ", "removed"),
    "UnicodeScripts": lambda p: p.UnicodeScripts(),
    "Whitespace": lambda p: p.Whitespace(),
    "WhitespaceSplit": lambda p: p.WhitespaceSplit(),
}
DECODERS: dict[str, Callable[[Any], Any]] = {
    "BPEDecoder": lambda d: d.BPEDecoder(),
    "ByteFallback": lambda d: d.ByteFallback(),
    "ByteLevel": lambda d: d.ByteLevel(),
    "CTC": lambda d: d.CTC(),
    "Fuse": lambda d: d.Fuse(),
    "Metaspace": lambda d: d.Metaspace(),
    "Replace": lambda d: d.Replace("e", "a"),
    "Sequence": lambda d: d.Sequence([d.ByteFallback(), d.Fuse()]),
    "Strip": lambda d: d.Strip("a", 1, 0),
    "WordPiece": lambda d: d.WordPiece(),
}
PROCESSORS: dict[str, Callable[[Any], Any]] = {
    "BertProcessing": lambda p: p.BertProcessing(("[SEP]", 102), ("[CLS]", 101)),
    "ByteLevel": lambda p: p.ByteLevel(),
    "RobertaProcessing": lambda p: p.RobertaProcessing(("</s>", 2), ("<s>", 0)),
    "Sequence": lambda p: p.Sequence([p.ByteLevel(), p.RobertaProcessing(("</s>", 2), ("<s>", 0))]),
    "TemplateProcessing": lambda p: p.TemplateProcessing(
        single="[A] $0", pair="[A] $A $B:1", special_tokens=[("[A]", 1)]
    ),
}
TOKENS = ("[UNK]", "a", "b", "c", "ab", "abc", "##b", "##c", "the", "cat", "sat", "on", "mat")
WORDS = {word: i for i, word in enumerate(TOKENS)}
MODELS: dict[str, Callable[[Any], Any]] = {
    "BPE": lambda m: m.BPE(WORDS, [("a", "b"), ("ab", "c")], unk_token="[UNK]"),
    "Unigram": lambda m: m.Unigram([(word, -float(i)) for i, word in enumerate(WORDS)], 0, False),
    "WordLevel": lambda m: m.WordLevel(WORDS, "[UNK]"),
    "WordPiece": lambda m: m.WordPiece(WORDS, unk_token="[UNK]"),
}
TRAINERS: dict[str, Callable[[Any], Any]] = {
    "BPE": lambda t: t.BpeTrainer(vocab_size=500, show_progress=False, special_tokens=["[UNK]"]),
    "Unigram": lambda t: t.UnigramTrainer(
        vocab_size=300, show_progress=False, special_tokens=["[UNK]"], unk_token="[UNK]"
    ),
    "WordLevel": lambda t: t.WordLevelTrainer(vocab_size=500, show_progress=False, special_tokens=["[UNK]"]),
    "WordPiece": lambda t: t.WordPieceTrainer(vocab_size=500, show_progress=False, special_tokens=["[UNK]"]),
}
EMPTY: dict[str, Callable[[Any], Any]] = {
    "BPE": lambda m: m.BPE(),
    "Unigram": lambda m: m.Unigram(),
    "WordLevel": lambda m: m.WordLevel(unk_token="[UNK]"),
    "WordPiece": lambda m: m.WordPiece(unk_token="[UNK]"),
}


def rows_of_normalizers() -> list[Row]:
    """Return a row for using each normalizer."""
    rows = []
    for name, make in NORMALIZERS.items():

        def use(s: Any, g: Any, name: str = name, make: Callable[[Any], Any] = make) -> Any:
            return s.part(name, s.lib.normalizers, make).normalize_str(g.document)

        rows.append(Row(f"normalizers.{name}.normalize_str", use, once=True))
    return rows


def rows_of_pre_tokenizers() -> list[Row]:
    """Return a row for using each pretokenizer."""
    rows = []
    for name, make in PRE_TOKENIZERS.items():

        def use(s: Any, g: Any, name: str = name, make: Callable[[Any], Any] = make) -> Any:
            return s.part(name, s.lib.pre_tokenizers, make).pre_tokenize_str(g.document)

        rows.append(Row(f"pre_tokenizers.{name}.pre_tokenize_str", use, once=True))
    return rows


def rows_of_decoders() -> list[Row]:
    """Return a row for using each decoder."""
    rows = []
    for name, make in DECODERS.items():

        def use(s: Any, g: Any, name: str = name, make: Callable[[Any], Any] = make) -> Any:
            return s.part(name, s.lib.decoders, make).decode(g.tokens)

        rows.append(Row(f"decoders.{name}.decode", use, once=True))
    return rows


def rows_of_processors() -> list[Row]:
    """Return a row for using each postprocessor."""
    rows = []
    for name, make in PROCESSORS.items():

        def use(s: Any, g: Any, name: str = name, make: Callable[[Any], Any] = make) -> Any:
            return s.part(name, s.lib.processors, make).process(s.plain)

        def count(s: Any, g: Any, name: str = name, make: Callable[[Any], Any] = make) -> Any:
            return s.part(name, s.lib.processors, make).num_special_tokens_to_add(False)

        rows.append(Row(f"processors.{name}.process", use, once=True))
        rows.append(Row(f"processors.{name}.num_special_tokens_to_add", count, once=True))
    return rows


def rows_of_models() -> list[Row]:
    """Return rows for making each model, for its look-ups and for writing its files."""
    rows = []
    for name, make in MODELS.items():

        def model(s: Any, name: str = name, make: Callable[[Any], Any] = make) -> Any:
            return s.part(name, s.lib.models, make)

        def new(s: Any, g: Any, make: Callable[[Any], Any] = make) -> Any:
            return make(s.lib.models)

        def tokenize(s: Any, g: Any, model: Callable[[Any], Any] = model) -> Any:
            return [(token.id, token.value, token.offsets) for token in model(s).tokenize("abc")]

        def to_id(s: Any, g: Any, model: Callable[[Any], Any] = model) -> Any:
            return model(s).token_to_id("cat")

        def to_token(s: Any, g: Any, model: Callable[[Any], Any] = model) -> Any:
            return model(s).id_to_token(3)

        def save(s: Any, g: Any, model: Callable[[Any], Any] = model) -> Any:
            return model(s).save(str(s.folder))

        rows += [
            Row(f"models.{name}(...)", new, same=nothing, once=True),
            Row(f"models.{name}.tokenize", tokenize, once=True),
            Row(f"models.{name}.token_to_id", to_id, once=True),
            Row(f"models.{name}.id_to_token", to_token, once=True),
            Row(f"models.{name}.save", save, read=lambda paths: [Path(p).read_bytes() for p in paths], once=True),
        ]
    return rows


def rows_of_training() -> list[Row]:
    """Return rows of training on the sentences: from memory, and from a file."""
    rows = []
    for name, make in TRAINERS.items():

        def tokenizer(s: Any, name: str = name) -> Any:
            tok = s.lib.Tokenizer(EMPTY[name](s.lib.models))
            tok.pre_tokenizer = s.lib.pre_tokenizers.Whitespace()
            return tok

        def iterate(s: Any, g: Any, make: Callable[[Any], Any] = make, tokenizer: Any = tokenizer) -> Any:
            tok = tokenizer(s)
            tok.train_from_iterator(g.sentences, make(s.lib.trainers))
            return tok

        def files(s: Any, g: Any, make: Callable[[Any], Any] = make, tokenizer: Any = tokenizer) -> Any:
            tok = tokenizer(s)
            tok.train([s.texts_file], make(s.lib.trainers))
            return tok

        read = size if name == "Unigram" else vocabulary
        rows.append(Row(f"train_from_iterator, {name}", iterate, read=read, once=True))
        rows.append(Row(f"train, {name}", files, read=read, once=True))
    return rows


def vocabulary(tok: Any) -> list[str]:
    """Return the tokens, sorted: the original numbers those of one count as a hash table has them."""
    return sorted(tok.get_vocab())


def size(tok: Any) -> int:
    """Return how many tokens there are: sums of floats in any order decide which ones the original keeps."""
    return tok.get_vocab_size()


def implementation(name: str) -> Callable[[Any, Any], Any]:
    """Return a call that trains one of `implementations`."""

    def call(s: Any, g: Any) -> Any:
        tok = getattr(s.lib, name)()
        tok.train_from_iterator(g.sentences[:200], vocab_size=300, show_progress=False)
        return tok

    return call


class Upper:
    """A normalizer that a user writes."""

    def normalize(self, normalized: Any) -> None:
        """Make a text upper case."""
        normalized.uppercase()


def own_normalizer(s: Any, g: Any) -> Any:
    """Run a normalizer that a user wrote."""
    return s.part("own", s.lib.normalizers, lambda n: n.Normalizer.custom(Upper())).normalize_str(g.document)


IMPLEMENTATIONS = (
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "SentencePieceBPETokenizer",
)
ROWS = (
    *rows_of_normalizers(),
    *rows_of_pre_tokenizers(),
    *rows_of_decoders(),
    *rows_of_processors(),
    *rows_of_models(),
    *rows_of_training(),
    *(Row(f"{name}, trained", implementation(name), read=vocabulary, once=True) for name in IMPLEMENTATIONS),
    Row(
        "SentencePieceUnigramTokenizer, trained",
        implementation("SentencePieceUnigramTokenizer"),
        read=size,
        once=True,
    ),
    Row(
        "normalizers.unicode_normalizer_from_str",
        lambda s, g: s.lib.normalizers.unicode_normalizer_from_str("nfc"),
        same=nothing,
        once=True,
    ),
    Row("Normalizer.custom, normalize_str", own_normalizer, apart=USERS, once=True),
)
