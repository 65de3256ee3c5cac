"""Writes a report on a vocabulary and its use on texts as a standalone page."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import OptionError
from tokkit.formats.byte_vocabulary import merge_list
from tokkit.models.bpe import BPE
from tokkit.models.char_bpe import CharBPE
from tokkit.models.names import name_of
from tokkit.models.sentencepiece import SPACE
from tokkit.models.wordpiece import WordPiece
from tokkit.view.reasons import spelt
from tokkit.view.standalone import standalone

if TYPE_CHECKING:
    from tokkit.tokenizer import Tokenizer

SHOWN = 60
"""Maximum number of tokens in a list on the page; the total number is shown too."""
LONGEST = 16
MOST_PER_WORD = 6
FILES = ("tokens.css", "report.css", "text.js", "bars.js", "report.js")
BODY = '<main id="report"></main>'


def report_html(tok: Tokenizer, texts: Mapping[str, str] | None = None, *, title: str = "Vocabulary") -> str:
    """Return a page about a tokenizer: properties of its tokens, and how texts use them.

    `texts` are texts by name, for example languages; the default is the bundled corpus of 29 files. The page has types,
    scripts and lengths of tokens; tokens per word and bytes per token of each text; a histogram of tokens per word;
    tokens that no text uses; BPE tokens that only occur as parts of other tokens; and tokens that encoding their own
    text does not give. It loads nothing, and tokens in it are escaped. OptionError if there is no text.

    >>> import tokkit
    >>> page = report_html(tokkit.train({"low": 5, "lowest": 2}, vocab_size=260), {"en": "low lower"})
    >>> page.startswith("<!doctype html>"), "://" in page
    (True, False)
    """
    if texts is None:
        from tokkit.corpus import bundled

        texts = {path.stem: path.read_text(encoding="utf-8") for path in bundled.paths()}
    if not any(texts.values()):
        raise OptionError("there is no text: give one, or None for the bundled corpus")
    special = set(tok.special_tokens.values())
    own = {id_: token for token, id_ in tok.vocab.items() if id_ not in special}
    encoded = {name: tok.encode_to_numpy(text, threads=None) for name, text in texts.items()}
    used = np.bincount(np.concatenate(list(encoded.values())), minlength=tok.n_ids)
    facts = [
        ("model", name_of(tok.definition.model)), ("tokens", f"{len(tok):,}"), ("special", f"{len(special):,}"),
        ("ids", f"{tok.n_ids:,}"), ("text", f"{sum(len(text.encode()) for text in texts.values()):,} bytes"),
        ("used by the text", f"{np.count_nonzero(used):,} tokens, {np.count_nonzero(used) / max(1, len(tok)):.1%}"),
    ]  # fmt: skip
    data = {
        "facts": facts,
        "bars": [
            ("Kinds of tokens", _counted(kind_of(token) for token in own.values())),
            ("Scripts of tokens", _counted(script_of(token) for token in own.values())),
            ("Characters in a token", lengths_of(own.values())),
            ("Tokens in a word of the texts", _per_word(tok, texts)),
        ],
        "texts": [_fertility(name, text, len(encoded[name])) for name, text in texts.items()],
        "lists": _lists(tok, own, used),
    }
    return standalone(title, BODY, FILES, data)


def _text_of(token: bytes) -> str | None:
    """Return the text of a token without marks of spaces and continuations; None if it is not whole characters."""
    try:
        text = token.replace(SPACE, b" ").decode()
    except UnicodeDecodeError:
        return None
    return text.removesuffix("</w>")


def kind_of(token: bytes) -> str:
    """Return the type of a token by its characters: the start of a word, a part of one, digits and so on."""
    text = _text_of(token)
    if text is None:
        return "bytes of a part of a character"
    bare = text.strip()
    if not bare:
        return "white space"
    if bare.isalpha():
        return "letters after a space" if text[0].isspace() else "letters"
    if bare.isdigit():
        return "digits"
    if not any(c.isalnum() for c in bare):
        return "punctuation and symbols"
    return "mixed"


def script_of(token: bytes) -> str:
    """Return the script of a token's letters by their names in Unicode; "several" or "none" if it is not one.

    Letters that are another letter in a certain look, as \u00b5 and full-width ones, count as that letter.
    """
    letters = filter(str.isalpha, unicodedata.normalize("NFKC", _text_of(token) or ""))
    names = (unicodedata.name(c, "UNKNOWN") for c in letters)
    found = {
        name.split(" ")[0].split("-")[0].capitalize().replace("Cjk", "CJK")
        for name in names
        if not name.startswith("MODIFIER LETTER ")  # which many scripts use
    }
    return found.pop() if len(found) == 1 else "several" if found else "none"


def _counted(values: Iterable[str]) -> list[tuple[str, int]]:
    found = Counter(values).most_common()
    rest = sum(n for _, n in found[20:])
    return found[:20] + ([("others", rest)] if rest else [])


def lengths_of(tokens: Iterable[bytes]) -> list[tuple[str, int]]:
    """Return the number of tokens by length in characters (1 to 16 or more), without marks of spaces."""
    found = Counter(min(LONGEST, len(text)) for token in tokens if (text := _text_of(token)) is not None)
    return [(f"{n}" if n < LONGEST else f"{n} or more", found[n]) for n in range(1, LONGEST + 1)]


def _per_word(tok: Tokenizer, texts: Mapping[str, str]) -> list[tuple[str, int]]:
    words = Counter(word for text in texts.values() for word in text.split())
    _, offsets = tok.encode_batch([f" {word}" for word in words])
    lengths = np.minimum(np.diff(offsets), MOST_PER_WORD)
    found: Counter[int] = Counter()
    for n, times in zip(lengths.tolist(), words.values(), strict=True):
        found[n] += times
    return [(f"{n}" if n < MOST_PER_WORD else f"{n} or more", found[n]) for n in range(1, MOST_PER_WORD + 1)]


def _fertility(name: str, text: str, n: int) -> tuple[str, int, float, float]:
    return name, n, round(n / max(1, len(text.split())), 3), round(len(text.encode()) / max(1, n), 3)


def _lists(tok: Tokenizer, own: Mapping[int, bytes], used: NDArray[Any]) -> list[tuple[str, int, list[Any]]]:
    """Return (title, number, first tokens) of lists of unusual tokens."""
    by_use = sorted(own, key=lambda id_: -int(used[id_]))
    often = [id_ for id_ in by_use[:SHOWN] if used[id_]]
    never = [id_ for id_ in own if not used[id_]]
    lists: list[tuple[str, int, list[Any]]] = []
    lists.append(("Most used", len(often), [(*_named(own, id_), int(used[id_])) for id_ in often]))
    inner = _only_inside(tok, never)
    if inner is not None:
        lists.append(("Only inside others: never used, but parts of used tokens", *_first(own, inner(used))))
    lists.append(("Never used by these texts", *_first(own, never)))
    lists.append(("Not what their own text gives", *_first(own, _unreachable(tok, own))))
    lists.append(("Longest", len(own), [_named(own, id_) for id_ in sorted(own, key=lambda id_: -len(own[id_]))[:30]]))
    return lists


def _first(own: Mapping[int, bytes], ids: Sequence[int]) -> tuple[int, list[Any]]:
    return len(ids), [_named(own, id_) for id_ in ids[:SHOWN]]


def _named(own: Mapping[int, bytes], id_: int) -> tuple[str, int]:
    return spelt(own[id_]), id_


def _only_inside(tok: Tokenizer, never: Sequence[int]) -> Any:
    """Return a function from counts to the unused tokens that are parts of used ones; None without merges."""
    model = tok.definition.model
    if not isinstance(model, (BPE, CharBPE)):
        return None
    merges = model.merges if isinstance(model, CharBPE) else merge_list(tok.definition)[0]
    pairs = np.asarray(merges, dtype=np.int64).reshape(-1, 3)

    def found(used: NDArray[Any]) -> list[int]:
        needed = used > 0
        for left, right, result in pairs[::-1].tolist():
            if needed[result]:
                needed[left] = needed[right] = True
        return [id_ for id_ in never if needed[id_]]

    return found


def _unreachable(tok: Tokenizer, own: Mapping[int, bytes]) -> list[int]:
    """Return the tokens whose own text is encoded differently; parts of words and of characters are left out."""
    prefix = getattr(tok.definition.model, "continuing_subword_prefix", None)
    skipped = prefix.encode() if isinstance(tok.definition.model, WordPiece) and prefix else b""
    texts = {}
    for id_, token in own.items():
        text = _text_of(token)
        if text and not (skipped and token.startswith(skipped)):
            texts[id_] = text
    ids, offsets = tok.encode_batch(list(texts.values()))
    alone = np.diff(offsets) == 1
    return [
        id_ for k, id_ in enumerate(texts) if not (alone[k] and int(ids[offsets[k]]) == id_)
    ]  # fmt: skip
