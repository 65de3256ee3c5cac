"""Ready-made tokenizers: BERT's WordPiece, BPE over bytes and characters, SentencePiece's BPE and Unigram."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tokkit.compat.tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers
from tokkit.compat.tokenizers.base_tokenizer import BaseTokenizer as BaseTokenizer
from tokkit.compat.tokenizers.base_tokenizer import Files
from tokkit.compat.tokenizers.regex import Regex
from tokkit.compat.tokenizers.tokenizer import Tokenizer
from tokkit.errors import OptionError


def _add_known(tokenizer: Tokenizer, *tokens: Any) -> None:
    """Make the tokens special, if the model has them."""
    for token in map(str, tokens):
        if tokenizer.token_to_id(token) is not None:
            tokenizer.add_special_tokens([token])


def _in_turn(parts: list[Any]) -> Any:
    """Return no normalizer, the only one, or a sequence."""
    return None if not parts else parts[0] if len(parts) == 1 else normalizers.Sequence(parts)


class BertWordPieceTokenizer(BaseTokenizer):
    """WordPiece with BERT's stages."""

    def __init__(
        self,
        vocab: Any = None,
        unk_token: Any = "[UNK]",
        sep_token: Any = "[SEP]",
        cls_token: Any = "[CLS]",
        pad_token: Any = "[PAD]",
        mask_token: Any = "[MASK]",
        clean_text: bool = True,
        handle_chinese_chars: bool = True,
        strip_accents: bool | None = None,
        lowercase: bool = True,
        wordpieces_prefix: str = "##",
    ) -> None:
        parameters = {name: value for name, value in locals().items() if name not in ("self", "vocab", "__class__")}
        made = Tokenizer(models.WordPiece(vocab, unk_token=str(unk_token)))
        _add_known(made, unk_token, sep_token, cls_token, pad_token, mask_token)
        made.normalizer = normalizers.BertNormalizer(clean_text, handle_chinese_chars, strip_accents, lowercase)
        made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        if vocab is not None:
            ends = []
            for token in map(str, (sep_token, cls_token)):
                if (id_ := made.token_to_id(token)) is None:
                    raise TypeError(f"the vocabulary has no {token!r}, which must begin or end each text")
                ends.append((token, id_))
            made.post_processor = processors.BertProcessing(ends[0], ends[1])
        made.decoder = decoders.WordPiece(prefix=wordpieces_prefix)
        super().__init__(made, {"model": "BertWordPiece", **parameters})

    @staticmethod
    def from_file(vocab: str, **options: Any) -> BertWordPieceTokenizer:
        """Return the tokenizer of a vocab.txt."""
        return BertWordPieceTokenizer(models.WordPiece.read_file(vocab), **options)

    @staticmethod
    def _trainer(
        vocab_size: int = 30000,
        min_frequency: int = 2,
        limit_alphabet: int = 1000,
        initial_alphabet: list[str] | None = None,
        special_tokens: Any = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
        show_progress: bool = True,
        wordpieces_prefix: str = "##",
    ) -> trainers.WordPieceTrainer:
        return trainers.WordPieceTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            limit_alphabet=limit_alphabet,
            initial_alphabet=initial_alphabet or [],
            special_tokens=list(special_tokens),
            show_progress=show_progress,
            continuing_subword_prefix=wordpieces_prefix,
        )

    def train(self, files: Files, *options: Any, **named: Any) -> None:
        """Train from files: vocab_size, min_frequency, limit_alphabet, initial_alphabet, special_tokens."""
        self._train(self._trainer(*options, **named), files)

    def train_from_iterator(
        self, iterator: Iterable[Any], *options: Any, length: int | None = None, **named: Any
    ) -> None:
        """Train from texts, with the options of `train`."""
        self._tokenizer.train_from_iterator(iterator, self._trainer(*options, **named), length)


class ByteLevelBPETokenizer(BaseTokenizer):
    """Byte-level BPE with GPT-2's stages."""

    def __init__(
        self,
        vocab: Any = None,
        merges: Any = None,
        add_prefix_space: bool = False,
        lowercase: bool = False,
        dropout: float | None = None,
        unicode_normalizer: str | None = None,
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        trim_offsets: bool = False,
    ) -> None:
        parameters = {n: value for n, value in locals().items() if n not in ("self", "vocab", "merges", "__class__")}
        if vocab is not None and merges is not None:
            ends = {
                "continuing_subword_prefix": continuing_subword_prefix or "",
                "end_of_word_suffix": end_of_word_suffix or "",
            }
            made = Tokenizer(models.BPE(vocab, merges, dropout=dropout, **ends))
        else:
            made = Tokenizer(models.BPE())
        parts: list[Any] = []
        if unicode_normalizer:
            parts.append(normalizers.unicode_normalizer_from_str(unicode_normalizer))
        if lowercase:
            parts.append(normalizers.Lowercase())
        made.normalizer = _in_turn(parts)
        made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
        made.decoder = decoders.ByteLevel()
        made.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
        super().__init__(made, {"model": "ByteLevelBPE", **parameters})

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **options: Any) -> ByteLevelBPETokenizer:
        """Return the tokenizer of a vocab.json and a merges.txt."""
        return ByteLevelBPETokenizer(*models.BPE.read_file(vocab_filename, merges_filename), **options)

    @staticmethod
    def _trainer(
        vocab_size: int = 30000,
        min_frequency: int = 2,
        show_progress: bool = True,
        special_tokens: Any = (),
    ) -> trainers.BpeTrainer:
        return trainers.BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            show_progress=show_progress,
            special_tokens=list(special_tokens),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )

    def train(self, files: Files, *options: Any, **named: Any) -> None:
        """Train from files: vocab_size, min_frequency, show_progress, special_tokens."""
        self._train(self._trainer(*options, **named), files)

    def train_from_iterator(
        self, iterator: Iterable[Any], *options: Any, length: int | None = None, **named: Any
    ) -> None:
        """Train from texts, with the options of `train`."""
        self._tokenizer.train_from_iterator(iterator, self._trainer(*options, **named), length)


class CharBPETokenizer(BaseTokenizer):
    """BPE over characters with a suffix at the end of words, as in the first GPT."""

    def __init__(
        self,
        vocab: Any = None,
        merges: Any = None,
        unk_token: Any = "<unk>",
        suffix: str = "</w>",
        dropout: float | None = None,
        lowercase: bool = False,
        unicode_normalizer: str | None = None,
        bert_normalizer: bool = True,
        split_on_whitespace_only: bool = False,
    ) -> None:
        parameters = {n: value for n, value in locals().items() if n not in ("self", "vocab", "merges", "__class__")}
        both = (vocab, merges) if vocab is not None and merges is not None else ()
        made = Tokenizer(models.BPE(*both, dropout=dropout, unk_token=str(unk_token), end_of_word_suffix=suffix))
        _add_known(made, unk_token)
        parts: list[Any] = []
        if unicode_normalizer:
            parts.append(normalizers.unicode_normalizer_from_str(unicode_normalizer))
        if bert_normalizer:
            parts.append(normalizers.BertNormalizer(lowercase=False))
        if lowercase:
            parts.append(normalizers.Lowercase())
        made.normalizer = _in_turn(parts)
        by_space = pre_tokenizers.WhitespaceSplit if split_on_whitespace_only else pre_tokenizers.BertPreTokenizer
        made.pre_tokenizer = by_space()
        made.decoder = decoders.BPEDecoder(suffix=suffix)
        super().__init__(made, {"model": "BPE", **parameters})

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **options: Any) -> CharBPETokenizer:
        """Return the tokenizer of a vocab.json and a merges.txt."""
        return CharBPETokenizer(*models.BPE.read_file(vocab_filename, merges_filename), **options)

    @staticmethod
    def _trainer(
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: Any = ("<unk>",),
        limit_alphabet: int = 1000,
        initial_alphabet: list[str] | None = None,
        suffix: str | None = "</w>",
        show_progress: bool = True,
    ) -> trainers.BpeTrainer:
        return trainers.BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=list(special_tokens),
            limit_alphabet=limit_alphabet,
            initial_alphabet=initial_alphabet or [],
            end_of_word_suffix=suffix,
            show_progress=show_progress,
        )

    def train(self, files: Files, *options: Any, **named: Any) -> None:
        """Train from files: vocab_size, min_frequency, special_tokens, limit_alphabet, initial_alphabet, suffix."""
        self._train(self._trainer(*options, **named), files)

    def train_from_iterator(
        self, iterator: Iterable[Any], *options: Any, length: int | None = None, **named: Any
    ) -> None:
        """Train from texts, with the options of `train`."""
        self._tokenizer.train_from_iterator(iterator, self._trainer(*options, **named), length)


class SentencePieceBPETokenizer(BaseTokenizer):
    """BPE over text in which spaces are marks, as in SentencePiece."""

    def __init__(
        self,
        vocab: Any = None,
        merges: Any = None,
        unk_token: Any = "<unk>",
        replacement: str = "▁",
        add_prefix_space: bool = True,
        dropout: float | None = None,
        fuse_unk: bool | None = False,
    ) -> None:
        names = ("self", "vocab", "merges", "fuse_unk", "__class__")
        parameters = {name: value for name, value in locals().items() if name not in names}
        both = (vocab, merges) if vocab is not None and merges is not None else ()
        made = Tokenizer(models.BPE(*both, dropout=dropout, unk_token=str(unk_token), fuse_unk=bool(fuse_unk)))
        _add_known(made, unk_token)
        made.normalizer = normalizers.NFKC()
        _mark_spaces(made, replacement, add_prefix_space)
        super().__init__(made, {"model": "SentencePieceBPE", **parameters})

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **options: Any) -> SentencePieceBPETokenizer:
        """Return the tokenizer of a vocab.json and a merges.txt."""
        return SentencePieceBPETokenizer(*models.BPE.read_file(vocab_filename, merges_filename), **options)

    @staticmethod
    def _trainer(
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: Any = ("<unk>",),
        limit_alphabet: int = 1000,
        initial_alphabet: list[str] | None = None,
        show_progress: bool = True,
    ) -> trainers.BpeTrainer:
        made = CharBPETokenizer._trainer(
            vocab_size, min_frequency, special_tokens, limit_alphabet, initial_alphabet, None, show_progress
        )
        return made

    def train(self, files: Files, *options: Any, **named: Any) -> None:
        """Train from files: vocab_size, min_frequency, special_tokens, limit_alphabet, initial_alphabet."""
        self._train(self._trainer(*options, **named), files)

    def train_from_iterator(
        self, iterator: Iterable[Any], *options: Any, length: int | None = None, **named: Any
    ) -> None:
        """Train from texts, with the options of `train`."""
        self._tokenizer.train_from_iterator(iterator, self._trainer(*options, **named), length)


def _mark_spaces(made: Tokenizer, replacement: str, add_prefix_space: bool) -> None:
    scheme = "always" if add_prefix_space else "never"
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement=replacement, prepend_scheme=scheme)
    made.decoder = decoders.Metaspace(replacement=replacement, prepend_scheme=scheme)


class SentencePieceUnigramTokenizer(BaseTokenizer):
    """Unigram over text in which spaces are marks, as in SentencePiece."""

    def __init__(self, vocab: Any = None, replacement: str = "▁", add_prefix_space: bool = True) -> None:
        made = Tokenizer(models.Unigram(vocab))
        parts = [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
        made.normalizer = normalizers.Sequence(parts)
        _mark_spaces(made, replacement, add_prefix_space)
        parameters = {"replacement": replacement, "add_prefix_space": add_prefix_space}
        super().__init__(made, {"model": "SentencePieceUnigram", **parameters})

    @staticmethod
    def _trainer(
        vocab_size: int = 8000,
        show_progress: bool = True,
        special_tokens: Any = None,
        initial_alphabet: list[str] | None = None,
        unk_token: str | None = None,
    ) -> trainers.UnigramTrainer:
        return trainers.UnigramTrainer(
            vocab_size=vocab_size,
            special_tokens=list(special_tokens or []),
            show_progress=show_progress,
            initial_alphabet=initial_alphabet or [],
            unk_token=unk_token,
        )

    def train(self, files: Files, *options: Any, **named: Any) -> None:
        """Train from files: vocab_size, show_progress, special_tokens, initial_alphabet, unk_token."""
        self._train(self._trainer(*options, **named), files)

    def train_from_iterator(
        self, iterator: Iterable[Any], *options: Any, length: int | None = None, **named: Any
    ) -> None:
        """Train from texts, with the options of `train`."""
        self._tokenizer.train_from_iterator(iterator, self._trainer(*options, **named), length)

    @staticmethod
    def from_spm(filename: str) -> SentencePieceUnigramTokenizer:
        """Return the tokenizer that tokenizers makes from a SentencePiece .model of the type unigram."""
        from tokkit.files import files
        from tokkit.formats import sentencepiece
        from tokkit.models.sentencepiece import UNKNOWN

        model = sentencepiece.read_model(files.read_bytes(filename))
        if model.kind != "unigram":
            raise OptionError(f"the model has the type {model.kind}; it must be unigram")
        pieces = [model.pieces[id_].decode() for id_ in range(model.pieces.n_ids)]
        unk_id = model.types.tolist().index(UNKNOWN)
        made = SentencePieceUnigramTokenizer()
        vocab = list(zip(pieces, model.scores.tolist(), strict=True))
        made.model = models.Unigram(vocab, unk_id, model.byte_fallback)
        charsmap = model.normalizer.charsmap
        parts: list[Any] = [normalizers.Precompiled(charsmap)] if charsmap else []
        made.normalizer = normalizers.Sequence([*parts, normalizers.Replace(Regex(" {2,}"), " ")])
        made._parameters = {"model": "SentencePieceUnigram"}
        return made
