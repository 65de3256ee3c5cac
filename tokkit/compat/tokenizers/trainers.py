"""The trainers: options for `Tokenizer.train`."""

from __future__ import annotations

import json
from typing import Any

from tokkit.compat.tokenizers import json_text, values
from tokkit.compat.tokenizers.added_token import AddedToken, tokens_of
from tokkit.compat.tokenizers.component import Setting

FORMATS = {"indicatif": "Indicatif", "json": "JsonLines", "silent": "Silent"}


def _special(name: str, given: Any) -> list[dict[str, Any]]:
    return [token.fields() for token in tokens_of(name, given, special=True)]


def _tokens(state: list[dict[str, Any]]) -> list[AddedToken]:
    return [AddedToken(**fields) for fields in state]


def _alphabet(name: str, given: Any) -> list[str]:
    return [text[0] for text in values.listed(name, given, values.text) if text]


def _format(name: str, given: Any) -> str:
    return FORMATS.get(values.text(name, given), FORMATS["indicatif"])


OPTIONAL_INT = values.optional(values.unsigned)
OPTIONAL_TEXT = values.optional(values.text)


class Trainer:
    """The base of all trainers: options, as attributes."""

    _state: dict[str, Any]
    _model = ""
    """The class of models that this trains."""

    def __new__(cls, *args: Any, **options: Any) -> Trainer:
        """Make a trainer with defaults; TypeError for the base class."""
        if cls is Trainer:
            raise TypeError("Trainer is a base class; make a BpeTrainer or another subclass")
        made = super().__new__(cls)
        made._state = {setting.key: _fresh(setting.default) for setting in made._settings().values()}
        return made

    def __init__(self, **options: Any) -> None:
        settings = self._settings()
        values.ignored([name for name in options if name not in settings])
        for name, value in options.items():
            if name in settings:
                self._state[settings[name].key] = settings[name].check(name, value)

    @classmethod
    def _settings(cls) -> dict[str, Setting]:
        return {name: value for name, value in vars(cls).items() if isinstance(value, Setting)}

    def _json(self) -> dict[str, Any]:
        return {**self._state, "words": {}}

    def __getstate__(self) -> bytes:
        return json_text.dumps({type(self).__name__: self._json()}).encode()

    def __setstate__(self, state: bytes) -> None:
        ((_, value),) = json.loads(state).items()
        value = value.get("bpe_trainer", value)
        self._state = {key: value[key] for key in self._state}

    def _shown(self, most: int) -> str:
        name = type(self).__name__
        return f"{name}({json_text.shown(self._json(), most, name=name)})"

    def __repr__(self) -> str:
        return self._shown(json_text.MAX_SHOWN)

    def __str__(self) -> str:
        return self._shown(json_text.MAX_IN_STR)


def _fresh(value: Any) -> Any:
    return list(value) if isinstance(value, (list, tuple)) else value


class BpeTrainer(Trainer):
    """Trains BPE: the most frequent pair is merged next; ties go to the smaller ids."""

    _model = "BPE"
    min_frequency = Setting(values.unsigned, default=0)
    vocab_size = Setting(values.unsigned, default=30000)
    show_progress = Setting(values.flag, default=True)
    progress_format = Setting(_format, default="Indicatif", show={v: k for k, v in FORMATS.items()}.__getitem__)
    special_tokens = Setting(_special, default=(), show=_tokens)
    limit_alphabet = Setting(OPTIONAL_INT)
    initial_alphabet = Setting(_alphabet, default=(), show=list)
    continuing_subword_prefix = Setting(OPTIONAL_TEXT)
    end_of_word_suffix = Setting(OPTIONAL_TEXT)
    max_token_length = Setting(OPTIONAL_INT)

    def get_word_count(self) -> int:
        """Return 0: words are counted while training, and not kept."""
        return 0


class WordPieceTrainer(Trainer):
    """Trains WordPiece as tokenizers does: BPE with a prefix, of which only the tokens are kept."""

    _model = "WordPiece"
    min_frequency = Setting(values.unsigned, default=0)
    vocab_size = Setting(values.unsigned, default=30000)
    show_progress = Setting(values.flag, default=True)
    _progress_format = Setting(_format, "progress_format", default="Indicatif")
    special_tokens = Setting(_special, default=(), show=_tokens)
    limit_alphabet = Setting(OPTIONAL_INT)
    initial_alphabet = Setting(_alphabet, default=(), show=list)
    continuing_subword_prefix = Setting(OPTIONAL_TEXT, default="##")
    end_of_word_suffix = Setting(OPTIONAL_TEXT)
    _max_token_length = Setting(OPTIONAL_INT, "max_token_length")

    def _json(self) -> dict[str, Any]:
        return {"bpe_trainer": super()._json()}


class WordLevelTrainer(Trainer):
    """Trains WordLevel: keeps the most frequent words; ties go to the smaller text."""

    _model = "WordLevel"
    min_frequency = Setting(values.unsigned, default=0)
    vocab_size = Setting(values.unsigned, default=30000)
    show_progress = Setting(values.flag, default=True)
    special_tokens = Setting(_special, default=(), show=_tokens)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise values.wrong_type(name, value, "a number")
    return float(value)


class UnigramTrainer(Trainer):
    """Trains Unigram as `tokkit.train(model="unigram")` does; the pieces differ from those of tokenizers."""

    _model = "Unigram"
    show_progress = Setting(values.flag, default=True)
    vocab_size = Setting(values.unsigned, default=8000)
    _n_sub_iterations = Setting(values.unsigned, "n_sub_iterations", default=2)
    _shrinking_factor = Setting(_number, "shrinking_factor", default=0.75)
    special_tokens = Setting(_special, default=(), show=_tokens)
    initial_alphabet = Setting(_alphabet, default=(), show=list)
    _unk_token = Setting(OPTIONAL_TEXT, "unk_token")
    _max_piece_length = Setting(values.unsigned, "max_piece_length", default=16)
    _seed_size = Setting(values.unsigned, "seed_size", default=1000000)

    def __init__(self, **options: Any) -> None:
        hidden = ("n_sub_iterations", "shrinking_factor", "unk_token", "max_piece_length", "seed_size")
        super().__init__(**{f"_{name}" if name in hidden else name: value for name, value in options.items()})
