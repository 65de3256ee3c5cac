"""RWKV's vocabulary: reading, writing, as GGUF, and refusals; compared with RWKV's own packages."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import tokkit
from gguf_files import ARRAY, BOOL, I32, U32, Typed, gguf, strings
from reference.longest_match import longest_match
from strategies import adversarial, documents
from tokkit.errors import FormatError, OptionError
from tokkit.formats import gguf_rwkv
from tokkit.tokenizer import Tokenizer

NAME = "rwkv_vocab_v1.txt"
END = "<|endoftext|>"
PARTS = ["a", "b", " ", "\n", "\t", "\\", "'", '"', "é", "中文", "😀", "it's", "\x7f", "\u2028", "\r"]


def tokens(seed: int) -> dict[int, bytes]:
    """All bytes, then pieces of texts, also parts of characters; the id 0 has none."""
    rng = random.Random(seed)
    made = [bytes([byte]) for byte in range(256)]
    for _ in range(200):
        text = "".join(rng.choices(PARTS, k=rng.randrange(1, 6))).encode()
        at = rng.randrange(len(text))
        made.append(text[at : at + rng.randrange(1, 9)])
    return dict(enumerate(dict.fromkeys(made), 1))


def lines_of(own: dict[int, bytes]) -> str:
    return "".join(f"{id_} {literal(token)} {len(token)}\n" for id_, token in own.items())


def literal(token: bytes) -> str:
    try:
        return repr(token.decode())
    except UnicodeDecodeError:
        return repr(token)


def written(folder: Path, text: str, name: str = NAME) -> Path:
    (folder / name).write_bytes(text.encode())
    return folder / name


def some_texts(seed: int) -> list[str]:
    rng = random.Random(seed)
    found = ["".join(rng.choices(PARTS, k=rng.randrange(50))) for _ in range(100)]
    found += [*documents(seed, 30, longest=200), adversarial(seed, 500), "<s>", "[UNUSED5]", END]
    return [text.encode("utf-8", "replace").decode() for text in found]


def test_a_file_is_read_and_written_again_byte_for_byte(tmp_path: Path) -> None:
    own = tokens(1)
    path = written(tmp_path, lines_of(own))
    tok = tokkit.load(path)
    assert tok.special_tokens == {END: 0}
    assert {id_: tok.vocab[id_] for id_ in own} == own
    ids = {token: id_ for id_, token in own.items()}
    for text in some_texts(1):
        assert tok.encode(text) == [id_ for id_, _, _ in longest_match(text.encode(), ids)]
        assert tok.decode(tok.encode(text)) == text
    assert [file.name for file in tok.save(tmp_path / "rwkv_vocab_v2.txt")] == ["rwkv_vocab_v2.txt"]
    assert (tmp_path / "rwkv_vocab_v2.txt").read_bytes() == path.read_bytes()
    tok.save(tmp_path / "other.txt", format="rwkv")
    assert tokkit.load(tmp_path / "other.txt").fingerprint() == tok.fingerprint()  # found by its content


def test_a_folder_with_one_such_file_and_line_ends_of_windows_are_read(tmp_path: Path) -> None:
    tok = tokkit.load(written(tmp_path, lines_of(tokens(2)).replace("\n", "\r\n")))
    assert tokkit.load(tmp_path).fingerprint() == tok.fingerprint()
    assert tok.vocab[1] == b"\x00"


def test_escapes_are_those_of_python_and_quotes_of_both_kinds_are_read(tmp_path: Path) -> None:
    lines = r"""1 "it's" 4
2 '\u4e2d\U0001f600\x41\t' 9
3 b'\xe4"\\\n' 4
4 b"'" 1
5 '\'"' 2
9 'ü' 2
"""
    tok = tokkit.load(written(tmp_path, lines))
    assert [tok.vocab[id_] for id_ in (1, 2, 3, 4, 5, 9)] == [
        b"it's", "中😀A\t".encode(), b'\xe4"\\\n', b"'", b"'\"", "ü".encode()
    ]  # fmt: skip
    assert 6 not in tok.vocab


def test_special_tokens_are_the_given_ones_or_the_end_of_text(tmp_path: Path) -> None:
    path = written(tmp_path, "1 'a' 1\n2 'b' 1\n")
    assert tokkit.load(path, special_tokens={"<s>": 0, "<pad>": 7}).special_tokens == {"<s>": 0, "<pad>": 7}
    assert tokkit.load(path, special_tokens={}).special_tokens == {}
    assert tokkit.load(written(tmp_path, "0 'a' 1\n1 'b' 1\n")).special_tokens == {}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("1 'a' 1\n2 b 1\n", r"line 2: an id, a token in quotes and its length are needed, not '2 b 1'"),
        ("1 'a' 1\n1 'b' 1\n", r"line 2: the id 1 has a token already, b'a'"),
        ("1 'a' 1\n2 'a' 1\n", r"line 2: b'a' has the id 1 already"),
        ("1 'é' 1\n", r"line 1: the token 'é' has 2 bytes, and its length is given as 1"),
        ("1 '\\q' 1\n", r"line 1: \\q is not an escape that is read"),
        ("1 '\\ud800' 3\n", r"line 1: '\\ud800' has a lone surrogate"),
        ("1 b'é中' 3\n", r"line 1: b?'é中' has a character beyond U\+00FF"),
        ("1 b'\\u4e2d' 3\n", r"line 1: \\u4e2d stands in bytes"),
        ("1 '\\U00110000' 3\n", r"line 1: \\U00110000 is not an escape"),
        ("1 '' 0\n", r"line 1: the token is empty"),
        ("9999999 'a' 1\n", r"line 1: the id is 9999999; ids run up to 2097151"),
        ("99999999 'a' 1\n", r"line 1: an id, a token in quotes"),
    ],
)
def test_a_malformed_line_is_refused_by_its_number(tmp_path: Path, lines: str, message: str) -> None:
    with pytest.raises(FormatError, match=rf"{NAME}: {message}"):
        tokkit.load(written(tmp_path, lines))


def test_what_the_file_cannot_hold_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, lines_of(tokens(3)))
    with pytest.raises(OptionError, match="its text is not split"):
        tokkit.load(path, pattern="gpt2")
    tok = tokkit.load(path, special_tokens={"<s>": 0})
    with pytest.raises(FormatError, match=r"holds no special tokens; there must be '<\|endoftext\|>'=0, and this"):
        tok.save(tmp_path / NAME)
    with pytest.raises(FormatError, match=r"a tokenizer\.json cannot have a model of the type LongestMatch"):
        tok.save(tmp_path / "tokenizer.json")
    with pytest.raises(FormatError, match="a rank file holds only byte-level BPE; this tokenizer's model is LongestM"):
        tok.save(tmp_path / "x.tiktoken")
    with pytest.raises(FormatError, match="the model is LongestMatch, not Unigram or BPE"):
        tok.save(tmp_path / "x.model")


# ---- GGUF


def keys(own: dict[int, bytes], n: int, **more: Typed) -> dict[str, object]:
    texts = [f"[PAD{id_}]" for id_ in range(n)]
    types = [5] * n
    texts[0], types[0] = "<s>", 3
    for id_, token in own.items():
        texts[id_], types[id_] = repr(b'"' + token)[3:-1], 1
    made = {"model": "rwkv", "tokens": strings(texts), "token_type": Typed(ARRAY, types, I32), **more}
    return {f"tokenizer.ggml.{name}": value for name, value in made.items()}


def of_gguf(folder: Path, given: dict[str, object]) -> Tokenizer:
    (folder / "x.gguf").write_bytes(gguf(given))
    return tokkit.load(folder / "x.gguf")


def test_a_gguf_file_gives_the_ids_of_the_text_file(tmp_path: Path) -> None:
    own = tokens(4)
    tok, other = of_gguf(tmp_path, keys(own, 600)), tokkit.load(written(tmp_path, lines_of(own)))
    assert tok.special_tokens == {"<s>": 0}
    for text in some_texts(4):
        assert tok.encode(text) == other.encode(text)
        assert tok.decode(tok.encode(text)) == text
    assert tok.encode("a<s>", special="all") == [98, 0]
    tok.save(tmp_path / "again.gguf")
    assert tokkit.load(tmp_path / "again.gguf").fingerprint() == tok.fingerprint()
    tokkit.load(tmp_path / NAME).save(tmp_path / "of_text.gguf")
    assert tokkit.load(tmp_path / "of_text.gguf").fingerprint() == other.fingerprint()


def test_the_file_says_what_is_put_around_and_what_is_unknown(tmp_path: Path) -> None:
    tok = of_gguf(tmp_path, keys({1: b"a"}, 3, unknown_token_id=Typed(U32, 0)))
    assert tok.encode("aé") == [1, 0, 0]
    more = {"bos_token_id": Typed(U32, 0), "add_bos_token": Typed(BOOL, True)}
    tok = of_gguf(tmp_path, keys({1: b"a"}, 3, **more))
    assert tok("a").ids == [0, 1]
    tok.save(tmp_path / "again.gguf")
    assert tokkit.load(tmp_path / "again.gguf")("a").ids == [0, 1]
    with pytest.raises(FormatError, match="holds no postprocessor"):
        tok.save(tmp_path / NAME)


@pytest.mark.parametrize("text", ["\\", "\\x", "\\x4", "\\xAB", "\\xg0"])
def test_incomplete_escapes_are_refused(tmp_path: Path, text: str) -> None:
    given = keys({1: b"a"}, 3)
    given["tokenizer.ggml.tokens"] = strings(["<s>", text, "b"])
    with pytest.raises(FormatError, match=r"tokens\[1\]: .* is not an escape"):
        of_gguf(tmp_path, given)


def test_vocabularies_that_could_not_be_exact_are_refused(tmp_path: Path) -> None:
    given = keys({1: b"a", 2: b"b"}, 3)
    given["tokenizer.ggml.tokens"] = strings(["<s>", "\\x61", "a"])
    with pytest.raises(FormatError, match="the ids 1 and 2 both have b'a'"):
        of_gguf(tmp_path, given)
    given["tokenizer.ggml.tokens"] = strings(["<\\n>", "a", "b"])
    with pytest.raises(FormatError, match=r"tokens\[0\]: '<\\\\n>' has an escape, which only normal tokens may have"):
        of_gguf(tmp_path, given)
    given = keys({1: b"a", 2: b"b"}, 3) | {"tokenizer.ggml.token_type": Typed(ARRAY, [3, 6, 1], I32)}
    with pytest.raises(FormatError, match=r"token_type\[1\]: 'a' is of the type byte"):
        of_gguf(tmp_path, given)
    with pytest.raises(FormatError, match=r"unknown_token_id: 1 is 'a', a normal token"):
        of_gguf(tmp_path, keys({1: b"a"}, 3, unknown_token_id=Typed(U32, 1)))


def test_escapes_are_undone_for_any_bytes() -> None:
    rng = random.Random(7)
    for _ in range(500):
        token = rng.randbytes(rng.randrange(1, 20))
        assert gguf_rwkv.unescaped(gguf_rwkv.escaped(token).encode()) == token


# ---- RWKV's own packages


@pytest.mark.parametrize("package", ["rwkv_tokenizer", "pyrwkv_tokenizer"])
def test_published_vocabulary_gives_the_ids_of_its_package(
    package: str, corpora: dict[str, Path], tmp_path: Path
) -> None:
    module = pytest.importorskip(package, reason=f"{package} brings RWKV's vocabulary, and is compared with")
    path = next(Path(module.__file__).parent.glob("rwkv_vocab_*.txt"))
    tok, rival = tokkit.load(path), module.RWKVTokenizer()
    rng = random.Random(11)
    found = [token.decode() for token in rng.sample(list(tok.vocab), 3000) if is_text(token)]
    made = ["".join(rng.choices(found, k=rng.randrange(10))) for _ in range(500)]
    for text in [*some_texts(5), *made, *(path.read_text(encoding="utf-8")[:30_000] for path in corpora.values())]:
        assert tok.encode(text) == list(rival.encode(text))
    tok.save(tmp_path / NAME)
    assert (tmp_path / NAME).read_bytes() == path.read_bytes()


def is_text(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True
