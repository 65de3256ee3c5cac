"""What must hold of a tokenizer whatever file it came from: all ways to its ids are one, and so is what is saved.

A file is refused by an error of tokkit, or gives a tokenizer for which that holds.
"""

from __future__ import annotations

import hashlib
import random
import re
import tempfile
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import tokkit
from reference.decode_stream import text_of_ids
from strategies import adversarial
from tokkit.engine.interpreter import Interpreter
from tokkit.errors import TokkitError
from tokkit.files import decimals
from tokkit.models.sentencepiece import SentencePieceModel
from tokkit.postprocessors.sequence import Sequence as InTurn
from tokkit.postprocessors.template import Template

TEXTS = (
    "",
    " ",
    "a",
    "ab ba  abc\n",
    "The lowest, newest ＡＢ é e\u0301 東京 12345!\r\n",
    "<s>a</s> <unk>[UNK]\0\x1b ",
)
MAX_CHARACTERS = 300
MAX_STEPS = 100


def texts_for(tok: tokkit.Tokenizer, rng: random.Random) -> list[str]:
    """Some of a few texts that are always the same, some of what the tokenizer knows, and one by chance."""
    vocab = tok.vocab
    ids = [id_ for id_ in rng.sample(range(vocab.n_ids), min(vocab.n_ids, 12)) if id_ in vocab]
    known = "".join(vocab[id_].decode("utf-8", "replace") for id_ in ids)[:MAX_CHARACTERS]
    added = "a".join(tok.special_tokens)[:MAX_CHARACTERS]
    return [
        *rng.sample(TEXTS, 2),
        known,
        known.replace("\u2581", " "),
        f"x{added} {known}",
        adversarial(rng.getrandbits(30), 60),
    ]


def parts_of(text: str, rng: random.Random) -> list[str]:
    cuts = sorted(rng.choices(range(len(text) + 1), k=rng.randint(0, 4)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def streamed(tok: tokkit.Tokenizer, parts: list[str], special: Any) -> list[int]:
    stream = tok.encode_stream(special=special)
    return [id_ for part in parts for id_ in stream.feed(part)] + stream.flush()


def check_decoding(tok: tokkit.Tokenizer, ids: list[int]) -> None:
    """Decoding bit by bit gives what decoding at once gives."""
    ids = ids[:MAX_STEPS]
    try:
        text = tok.decode(ids)
    except TokkitError:
        return
    stream = tok.decode_stream()
    parts = [stream.step(id_) for id_ in ids] + [stream.flush()]
    assert "".join(parts) == text_of_ids(tok, ids), (ids, parts, text)
    assert "".join(parts) == text or "\ufffd" in text, (ids, parts, text)
    model = tok.definition.model
    if "\ufffd" in text and isinstance(model, SentencePieceModel) and model.byte_fallback:
        return  # SentencePiece decodes each byte that is no text to U+FFFD, and Python some of them together
    assert tok.decode_bytes(ids).decode("utf-8", "replace") == text, (ids, text)


def repeats_text(processor: object) -> bool:
    """Tell whether a template has the text several times: then an `Encoding` has all of it so often too."""
    if isinstance(processor, InTurn):
        return any(map(repeats_text, processor.processors))
    return isinstance(processor, Template) and sum(piece.what == 0 for piece in processor.single) > 1


def check_spans(tok: tokkit.Tokenizer, text: str, ids: list[int]) -> None:
    """An `Encoding` has the same ids, and its offsets lie in the text."""
    try:
        encoding = tok(text, add_special=False, truncation=None, padding=None)
    except TokkitError:  # a template without a place for the text
        return
    times = len(encoding.ids) // max(len(ids), 1) if repeats_text(tok.definition.postprocessor) else 1
    assert encoding.ids == ids * times, (text, encoding.ids, ids)
    assert all(0 <= start <= end <= len(text) for start, end in encoding.offsets), (text, encoding.offsets)
    n = len(ids) // 2
    prefix, count = tok.truncate(text, n)
    assert text.startswith(prefix), (text, prefix)
    assert count == tok.count(prefix) <= n, (text, prefix, count)


def twin_of(tok: tokkit.Tokenizer) -> Interpreter | None:
    """The stages of a tokenizer one after the other; SentencePiece's models, which have none, have twins in C."""
    return None if isinstance(tok.definition.model, SentencePieceModel) else Interpreter(tok.definition)


def check_text(tok: tokkit.Tokenizer, twin: Interpreter | None, text: str, rng: random.Random) -> None:
    some = frozenset(token for token in sorted(tok.special_tokens) if rng.random() < 0.5)
    for special in ("text", "all", some):
        try:
            ids = tok.encode(text, special=special)
        except TokkitError:
            continue
        assert all(id_ in tok.vocab for id_ in ids), (text, ids)
        assert streamed(tok, parts_of(text, rng), special) == ids, (text, special, ids)
        assert tok.encode_to_numpy(text, special=special, threads=2).tolist() == ids, (text, special, ids)
        assert twin is None or twin.encode(text, special) == ids, (text, special, ids)
        assert tok.count(text, special=special) == len(ids)
        check_decoding(tok, ids)
        if special == "text":
            check_spans(tok, text, ids)


def check_rows(tok: tokkit.Tokenizer, texts: list[str]) -> None:
    """Rows of arrays are the encodings: with the special tokens, truncation and padding that the file states."""
    for sides in ([texts], [texts, texts[::-1]]):
        try:
            single, rows = tok.encodings(*sides), tok.encode_padded(*sides)
        except TokkitError:  # a text that the model has no ids for, a template without a place for the second
            continue
        for encoding, ids, mask in zip(single, rows.ids.tolist(), rows.attention_mask.tolist(), strict=True):
            n = len(encoding.ids)
            assert encoding.ids == ids[:n], (encoding.ids, ids)
            assert not any(ids[n:]), ids
            assert encoding.attention_mask == mask[:n], (encoding.attention_mask, mask)


def encoded(tok: tokkit.Tokenizer, texts: list[str]) -> list[object]:
    """The ids of each text, or the kind of error."""
    found: list[object] = []
    for text in texts:
        try:
            found.append(tok.encode(text, special="all"))
        except TokkitError as error:
            found.append(type(error))
    return found


def check_batch(tok: tokkit.Tokenizer, texts: list[str], ids: list[object]) -> None:
    good = [text for text, found in zip(texts, ids, strict=True) if isinstance(found, list)]
    flat, offsets = tok.encode_batch(good, special="all", threads=2)
    parts = [flat[start:end].tolist() for start, end in pairwise(offsets.tolist())]
    assert parts == [found for found in ids if isinstance(found, list)]


def pattern_option(split: object) -> str:
    """The option that stands for the pattern of a `Split`: one that is a word would be taken for a name."""
    if not isinstance(split, tokkit.Split) or split.pattern is None:
        return "none"
    pattern = split.pattern
    return f"(?:{pattern})" if re.fullmatch(r"[\w.-]+", pattern) else pattern


def check_saved(tok: tokkit.Tokenizer, folder: Path, texts: list[str], ids: list[object]) -> None:
    """What is written is read again, as the same: a format that cannot hold a tokenizer refuses it."""
    is_sentencepiece = isinstance(tok.definition.model, SentencePieceModel)
    for name, options in (
        ("tokenizer.json", {}),
        ("saved.model", {}),
        ("saved.tiktoken", {"pattern": pattern_option(tok.definition.pretokenizer)}),
        ("vocab.txt", {}),
        ("pair", {}),
    ):
        path = folder / "out" / name
        path.parent.mkdir(exist_ok=True)
        try:
            tok.save(path, format="gpt2" if name == "pair" else None)
        except TokkitError:
            continue
        if name.endswith(".tiktoken") and tok.special_tokens:
            options["special_tokens"] = tok.special_tokens
        again = tokkit.load(path, **options)
        if isinstance(again.definition.model, SentencePieceModel) != is_sentencepiece:
            continue  # sentencepiece_conversion.py says for which texts ids may differ
        assert encoded(again, texts) == ids, name
        if name == "tokenizer.json":
            # Ids that are free behind the last token are in no tokenizer.json; (?i:...) is written in other words; no
            # digits stand for some scores, such as those that a GGUF file has as float32.
            stages = tok.definition.normalizer, tok.definition.pretokenizer, tok.definition.decoder
            scores = getattr(tok.definition.model, "scores", None)
            has_digits = scores is None or all(decimals.read(decimals.write(x)) == x for x in scores.tolist())
            is_same = again.n_ids == tok.n_ids and "(?i:" not in repr(stages) and has_digits
            assert not is_same or again.fingerprint() == tok.fingerprint()
            tok.save(folder / "out" / "again.json")
            assert path.read_bytes() == (folder / "out" / "again.json").read_bytes()


def check_tokenizer(tok: tokkit.Tokenizer, seed: bytes, folder: Path) -> None:
    rng = random.Random(seed)
    twin = twin_of(tok)
    texts = texts_for(tok, rng)
    for text in texts:
        check_text(tok, twin, text, rng)
    ids = encoded(tok, texts)
    check_batch(tok, texts, ids)
    check_rows(tok, texts)
    check_decoding(tok, [id_ for id_ in rng.choices(range(max(tok.vocab.n_ids, 1)), k=12) if id_ in tok.vocab])
    check_saved(tok, folder, texts, ids)


def check_files(files: Mapping[str, bytes], first: str, load: Callable[[Path], tokkit.Tokenizer] = tokkit.load) -> None:
    """Write files into a folder, read a tokenizer of the one named `first`, and check what comes out."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, data in files.items():
            (folder / file).write_bytes(data)
        try:
            tok = load(folder / first)
        except TokkitError:
            return
        seed = hashlib.sha1(b"".join(files.values())).digest()
        check_tokenizer(tok, seed, folder)
