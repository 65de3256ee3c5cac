"""tekken.json files give tiktoken's ids, and each kind of error in a file is refused."""

from __future__ import annotations

import base64
import contextlib
import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

import tokkit
from conftest import Small
from strategies import adversarial, documents
from tokkit import formats
from tokkit.errors import FormatError, OptionError, VocabError
from tokkit.formats import tekken
from tokkit.pretokenizers import patterns

File = dict[str, Any]
N_SPECIAL = 30
UNUSED = 12


def ranked(small: Small) -> list[bytes]:
    """The bytes in their order, as Mistral's files have them, and then what was learnt."""
    return [bytes([byte]) for byte in range(256)] + [token for token in small.tokens if len(token) > 1]


def entry(rank: int, token: bytes) -> dict[str, Any]:
    try:
        text = token.decode()
    except UnicodeDecodeError:
        text = None
    return {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": text}


@pytest.fixture
def file(small: Small) -> File:
    """A file of version 3, which does not list its special tokens; its last tokens are not in use."""
    tokens = ranked(small)
    return {
        "config": {
            "pattern": patterns.TEKKEN,
            "num_vocab_tokens": len(tokens),
            "default_vocab_size": len(tokens) - UNUSED + N_SPECIAL,
            "default_num_special_tokens": N_SPECIAL,
            "version": "v3",
        },
        "vocab": [entry(rank, token) for rank, token in enumerate(tokens)],
    }


def listed(file: File, special: list[str]) -> File:
    tokens = [{"rank": rank, "token_str": text, "is_control": True} for rank, text in enumerate(special)]
    return {**file, "config": {**file["config"], "version": "v11"}, "special_tokens": tokens, "image": {"a": [1]}}


def load(path: Path, file: File, name: str = "tekken.json") -> tokkit.Tokenizer:
    (path / name).write_text(json.dumps(file))
    return tokkit.load(path / name)


def test_ids_are_those_of_tiktoken_behind_the_special_tokens(
    tmp_path: Path, file: File, small: Small, bundled: str
) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {token: rank for rank, token in enumerate(ranked(small)[:-UNUSED])}
    rival = tiktoken.Encoding("tekken", pat_str=patterns.TEKKEN, mergeable_ranks=ranks, special_tokens={})
    for made in (file, listed(file, ["<unk>", "<s>", "</s>", "[INST]"])):
        tok = load(tmp_path, made)
        assert tok.split_engine == "scanner"
        texts = [bundled, *documents(77, 200), *(adversarial(seed, 3000) for seed in range(10)), "<s>[INST]</s>"]
        for text in texts:
            ids = tok.encode(text)
            assert ids == [id_ + N_SPECIAL for id_ in rival.encode_ordinary(text)]
            assert tok.decode(ids) == text
        assert tok.n_ids == made["config"]["default_vocab_size"]
    assert tokkit.load(tmp_path).fingerprint() == tok.fingerprint()  # the folder
    assert load(tmp_path, made, "any.json").fingerprint() == tok.fingerprint()


def test_the_special_tokens_of_old_files_are_the_published_ones_and_the_rest_are_numbered(
    tmp_path: Path, file: File
) -> None:
    tok = load(tmp_path, file)
    by_id = {id_: text for text, id_ in tok.special_tokens.items()}
    assert sorted(by_id) == list(range(N_SPECIAL))
    assert [by_id[id_] for id_ in (0, 1, 2, 3, 11, 19, 20, 29)] == [
        *("<unk>", "<s>", "</s>", "[INST]", "<pad>", "[TOOL_CONTENT]", "<SPECIAL_20>", "<SPECIAL_29>")
    ]
    assert tok.encode("<s>[INST]a", special="all") == [1, 3, 97 + N_SPECIAL]
    assert tok.encode("<s>") != [1]
    short = load(tmp_path, listed(file, ["<a>", "<b>"]))
    assert list(short.special_tokens)[:3] == ["<a>", "<b>", "<SPECIAL_2>"]
    swapped = listed(file, ["<a>", "<b>"])
    swapped["special_tokens"].reverse()
    assert load(tmp_path, swapped).special_tokens == short.special_tokens


def test_a_special_token_may_have_the_bytes_of_an_ordinary_one(tmp_path: Path, file: File) -> None:
    tok = load(tmp_path, listed(file, ["a", "the"]))
    plain = load(tmp_path, listed(file, ["<a>", "<b>"]))
    for text in ("a", "the cat ate", "a the"):
        assert tok.encode(text) == plain.encode(text)
    assert tok.encode("a", special="all") == [0]


def test_ranks_are_written_as_a_rank_file_with_the_ids_that_they_have(tmp_path: Path, file: File) -> None:
    tok = load(tmp_path, file)
    tok.save(tmp_path / "t.tiktoken")
    again = tokkit.load(tmp_path / "t.tiktoken", pattern="tekken", special_tokens=tok.special_tokens)
    assert again.fingerprint() == tok.fingerprint()


@pytest.mark.parametrize("named", [None, 0, 4, N_SPECIAL])
@pytest.mark.parametrize("version", ["v3", "v7", "v11", "v13"])
def test_what_decides_no_ids_is_written_back(tmp_path: Path, file: File, version: str, named: int | None) -> None:
    if named is None and version in ("v11", "v13"):
        return
    given = file if named is None else listed(file, [f"<{rank}>" for rank in range(named)])
    given["config"]["version"] = version
    given |= {
        "version": 1,
        "type": "Tekken",
        "audio": {"sampling_rate": 16000, "frame_rate": 12.5, "deep": {"é": None}},
    }
    given |= {"multimodal": {"image_patch_size": 16}, "image": {"max_image_size": 1024}}
    for token in given.get("special_tokens", ())[1:3]:
        token["is_control"] = False
    tok = load(tmp_path, given)
    tok.save(tmp_path / "again-tekken.json")
    written = json.loads((tmp_path / "again-tekken.json").read_text())
    in_use = given["config"]["default_vocab_size"] - N_SPECIAL
    assert written.pop("vocab") == given["vocab"][:in_use]
    assert written.pop("config") == {**given["config"], "num_vocab_tokens": in_use}
    assert written == {key: part for key, part in given.items() if key not in ("config", "vocab")}
    again = tokkit.load(tmp_path / "again-tekken.json")
    assert again.fingerprint() == tok.fingerprint()


def test_special_tokens_behind_the_others_are_refused(tmp_path: Path, file: File) -> None:
    short = listed(file, ["<unk>", "<s>"])
    short["special_tokens"][1]["is_control"] = False
    tok = load(tmp_path, short)
    with pytest.raises(FormatError, match="have the first ids"):
        tok.with_special_tokens({"<more>": tok.n_ids}).save(tmp_path / "tekken.json")


def test_ranks_that_do_not_begin_with_the_bytes_in_order_are_read_and_not_written(tmp_path: Path, file: File) -> None:
    first, second = file["vocab"][0]["token_bytes"], file["vocab"][1]["token_bytes"]
    file["vocab"][0]["token_bytes"], file["vocab"][1]["token_bytes"] = second, first
    tok = load(tmp_path, file)
    with pytest.raises(FormatError, match=r"but rank 0 is b'\\x01', not b'\\x00'; mistral-common .*\.tiktoken"):
        tok.save(tmp_path / "again-tekken.json")
    assert not (tmp_path / "again-tekken.json").exists()


def test_options_are_refused_or_added(tmp_path: Path, file: File) -> None:
    load(tmp_path, file)
    with pytest.raises(OptionError, match=r"tekken\.json has its own"):
        formats.read(tmp_path / "tekken.json", pattern="gpt2")
    added = formats.read(tmp_path / "tekken.json", special_tokens={"<new>": 9000})
    assert added.special_tokens["<new>"] == 9000


def changed(file: File, path: list[Any], value: Any) -> File:
    made = copy.deepcopy(file)
    at = made
    for step in path[:-1]:
        at = at[step]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return made


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (["config", "pattern"], None, r"config\.pattern: missing"),
        (["config", "pattern"], "(", r"config\.pattern: pattern, at 1: an unbalanced parenthesis"),
        (["config", "pattern"], 3, r"config\.pattern: a string is needed"),
        (["config", "version"], None, r"config\.version: missing"),
        (["config", "version"], "three", r"config\.version is 'three'; it must be v and a number"),
        (["config", "version"], "v" + "9" * 9, r"config\.version is .*v and a number"),
        (["config", "more"], 1, r"config\.more: unknown key"),
        (["config", "default_vocab_size"], None, r"config\.default_vocab_size: missing"),
        (["config", "default_vocab_size"], 10**9, r"config\.default_vocab_size is 1000000000; it must be at most"),
        (["config", "default_vocab_size"], -1, r"config\.default_vocab_size is -1; it must be at most"),
        (["config", "default_vocab_size"], 1.5, r"config\.default_vocab_size: an integer is needed, not a number"),
        (["config", "default_vocab_size"], 285, r"config\.default_num_special_tokens: from 0 to 29 .* not 30"),
        (
            ["config", "default_vocab_size"],
            5000,
            r"vocab: there are \d+ tokens; config\.default_vocab_size requires 4970",
        ),
        (["config", "default_num_special_tokens"], -1, r"config\.default_num_special_tokens: from 0 to"),
        (["config", "default_num_special_tokens"], 19, r"special_tokens: 20 tokens of ranks 0 to 19; .* is 19"),
        (["special_tokens"], {}, r"special_tokens: an array or null is needed"),
        (["special_tokens"], [3], r"special_tokens\[0\]: an object is needed"),
        (["special_tokens"], [{"rank": 0}], r"special_tokens\[0\]\.token_str: missing"),
        (["special_tokens"], [{"rank": 0, "token_str": ""}], r"special_tokens\[0\]\.token_str: '' is not text"),
        (["special_tokens"], [{"rank": 0, "token_str": "\ud800"}], r"special_tokens\[0\]\.token_str: .* is not text"),
        (["special_tokens"], [{"rank": 1, "token_str": "a"}], r"special_tokens: 1 tokens of ranks 1 to 1"),
        (["special_tokens"], [{"rank": 0, "token_str": "a"}] * 2, r"special_tokens\[1\]\.rank: 0 is the rank of"),
        (
            ["special_tokens"],
            [{"rank": 0, "token_str": "a"}, {"rank": 1, "token_str": "a"}],
            r"special_tokens: the ids 0 and 1 both",
        ),
        (["special_tokens"], [{"rank": 0, "token_str": "<SPECIAL_5>"}], r"special_tokens: the ids 0 and 5 both have"),
        (["special_tokens"], [{"rank": 0, "token_str": "a", "x": 1}], r"special_tokens\[0\]\.x: unknown key"),
        (["vocab", 300], 3, r"vocab\[300\]: an object is needed, not an integer"),
        (["vocab", 300, "rank"], None, r"vocab\[300\]\.rank: missing"),
        (["vocab", 300, "rank"], 301, r"vocab\[300\]\.rank: .* 300 here, not 301"),
        (["vocab", 300, "rank"], True, r"vocab\[300\]\.rank: an integer is needed"),
        (["vocab", 300, "token_bytes"], None, r"vocab\[300\]\.token_bytes: missing"),
        (["vocab", 300, "token_bytes"], 3, r"vocab\[300\]\.token_bytes: a string is needed"),
        (["vocab", 300, "token_bytes"], "", r"vocab\[300\]\.token_bytes: not valid base64"),
        (["vocab", 300, "token_bytes"], "YWI", r"vocab\[300\]\.token_bytes: not valid base64"),
        (["vocab", 300, "token_bytes"], "YW I=", r"vocab\[300\]\.token_bytes: not valid base64"),
        (["vocab", 300, "token_bytes"], "YWé=", r"vocab\[300\]\.token_bytes: not valid base64"),
        (["vocab", 300, "token_bytes"], "YQ==", r"vocab\[97\]: the token b'a' also has rank 300"),
        (["vocab", 97, "token_bytes"], "YWFhYWFhYWFhYQ==", r"vocab: the byte 0x61 has no token"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, file: File, path: list[Any], value: Any, reason: str) -> None:
    with pytest.raises(FormatError, match=rf"tekken\.json: {reason}"):
        load(tmp_path, changed(file, path, value))


def test_new_files_have_to_list_their_special_tokens(tmp_path: Path, file: File) -> None:
    with pytest.raises(FormatError, match=r"special_tokens: missing; files of version 11 list them"):
        load(tmp_path, changed(file, ["config", "version"], "v11"))
    load(tmp_path, changed(file, ["config", "version"], "v7"))


def test_the_last_tokens_are_not_looked_at(tmp_path: Path, file: File) -> None:
    tok = load(tmp_path, file)
    file["vocab"][-UNUSED:] = [None] * UNUSED
    assert load(tmp_path, file).fingerprint() == tok.fingerprint()
    assert not tekken.is_tekken([])
    with pytest.raises(FormatError, match="an object is needed, not an array"):
        tekken.from_json([])


def test_fuzzed_files_give_definitions_or_errors_of_ours(tmp_path: Path, file: File) -> None:
    file["vocab"] = file["vocab"][:300]
    file["config"]["default_vocab_size"] = 300 + N_SPECIAL
    data = json.dumps(file).encode()
    read_well = 0
    for seed in range(300):
        rng = random.Random(seed)
        spoilt = bytearray(data)
        for _ in range(rng.randint(1, 2)):
            at = rng.randrange(len(spoilt)) if rng.random() < 0.5 else rng.randrange(700)
            spoilt[at : at + rng.choice([0, 1, 1, 9])] = rng.choice(
                [b"", b" ", b"1", b"-", b"null", b"[", b'"', rng.randbytes(2)]
            )
        (tmp_path / "tekken.json").write_bytes(spoilt)
        with contextlib.suppress(FormatError, OptionError, VocabError):
            formats.read(tmp_path / "tekken.json")
            read_well += 1
    assert 0 < read_well < 300
