"""A table of calls to tokenizers and to tokkit's drop-in: equal results, and errors that the same `except` catches."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from tokenizers_calls import CALLS
from tokkit.compat import tokenizers as face

theirs = pytest.importorskip("tokenizers")

COLUMNS = ("ids", "type_ids", "tokens", "offsets", "attention_mask", "special_tokens_mask", "word_ids", "sequence_ids")


def names(package: Any) -> dict[str, Any]:
    """What the calls of the tables use, of one of the packages."""
    models, pre, post = package.models, package.pre_tokenizers, package.processors

    def tok() -> Any:
        vocab = {token: i for i, token in enumerate(["<unk>", "low", "new", "<s>", "</s>", "l", "##o"])}
        made = package.Tokenizer(models.WordPiece(vocab, unk_token="<unk>"))
        made.pre_tokenizer = pre.Whitespace()
        made.decoder = package.decoders.WordPiece()
        made.post_processor = post.BertProcessing(("</s>", 4), ("<s>", 3))
        made.add_special_tokens(["<s>", "</s>"])
        made.add_tokens(["a!"])
        return made

    def with_(made: Any, method: str, *args: Any, **options: Any) -> Any:
        getattr(made, method)(*args, **options)
        return made

    def changed(text: Any, change: Any) -> Any:
        change(text)
        return text, [text.slice((i, i + 1)) for i in range(len(text.normalized))]

    def parts(text: str, tokens: bool = False) -> Any:
        made = package.PreTokenizedString(text)
        made.split(lambda i, part: part.split(" ", "removed"))
        made.normalize(lambda part: part.uppercase())
        if tokens:
            made.tokenize(lambda s: [package.Token(1, s[:2], (0, 2)), package.Token(2, s[2:], (2, len(s.encode())))])
        return made

    given = {"T": package, "M": models, "N": package.normalizers, "P": pre, "R": post, "D": package.decoders}
    made = {"X": package.trainers, "tok": tok, "with_": with_, "changed": changed, "parts": parts}
    pair = {"one": lambda: tok().encode("low lo"), "two": lambda: tok().encode("low lo", "new a! low")}
    return {**given, **made, **pair, "pickle": pickle, "copy": copy}


def plain(value: Any) -> Any:
    """A result in a form that can be compared: objects as their columns, fields or reprs."""
    if type(value).__name__ == "Encoding":
        columns = {name: getattr(value, name) for name in COLUMNS}
        return {**columns, "n": value.n_sequences, "overflowing": list(map(plain, value.overflowing))}
    if type(value).__name__ == "Token":
        return value.as_tuple()
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    known = isinstance(value, (str, bytes, int, float, type(None)))
    return value if known else (type(value).__name__, repr(value))


def outcome(call: str, given: dict[str, Any]) -> Any:
    """What a call gives, or its error."""
    try:
        return plain(eval(call, given))
    except Exception as error:
        return error


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("call", CALLS)
def test_a_call_gives_what_the_original_gives(call: str) -> None:
    wanted, found = outcome(call, names(theirs)), outcome(call, names(face))
    if isinstance(wanted, Exception):
        # Where theirs is a bare Exception, ours says more.
        assert isinstance(found, type(wanted)), (wanted, found)
    else:
        assert found == wanted


def test_the_names_of_the_original_are_there() -> None:
    missing = {"ParityBpeTrainer"}
    for part in (
        "",
        "models",
        "normalizers",
        "pre_tokenizers",
        "processors",
        "decoders",
        "trainers",
        "implementations",
    ):
        real, ours = (getattr(package, part) if part else package for package in (theirs, face))
        public = {name for name, value in vars(real).items() if isinstance(value, type) and not name.startswith("_")}
        assert {name for name in public if not hasattr(ours, name)} <= missing | {"Enum"}
