"""Arguments and attributes of classes: what is put around texts, languages, and Whisper's prefixes and timestamps."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import pytest

import trained_class_folders
from extras import extra
from tokkit.compat import transformers as face
from tokkit.errors import TokkitError

transformers = extra("transformers", minversion="5.24")
sentencepiece = extra("sentencepiece")
extra("google.protobuf")  # with which transformers reads .model files

TIMED = [50258, 50259, 50360, 50365, 2425, 11, 50415, 50465, 1002, 50500, 50364, 400, 50515]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("vocabularies")
    trained_class_folders.vocabularies(made)
    return made


def both(path: Path, **asked: Any) -> tuple[Any, Any]:
    """The tokenizers of both libraries: ours, and that of transformers."""
    made = [library.AutoTokenizer.from_pretrained(path, **asked) for library in (face, transformers)]
    return made[0], made[1]


def published(shared: Path, name: str, of_class: str, folder: Path) -> Path:
    """A folder with a published tokenizer.json, and a class."""
    shutil.copy(shared / "vocabs" / name / "tokenizer.json", folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": of_class}))
    return folder


def ids_of(path: Path) -> dict[str, int]:
    """Piece → id of a .model, with a pad token and a language."""
    model = sentencepiece.SentencePieceProcessor(str(path))
    found = {model.id_to_piece(id_): id_ for id_ in range(model.get_piece_size())}
    return found | {token: len(found) + at for at, token in enumerate(("<pad>", ">>fr<<"))}


@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        ({"add_bos_token": False}, [22557]),
        ({"add_eos_token": True}, [22557, 2]),
        ({"add_bos_token": True, "add_eos_token": True}, [1, 22557, 2]),
        ({"add_prefix_space": False}, [1, 16230]),
    ],
)
def test_arguments_of_llama_classes_are_applied(
    shared: Path, tmp_path: Path, asked: dict[str, Any], ids: list[int]
) -> None:
    ours, theirs = both(published(shared, "mistral-v1", "LlamaTokenizer", tmp_path), **asked)
    assert ours("Hello")["input_ids"] == theirs("Hello")["input_ids"] == ids


def test_whisper_puts_language_and_task_first_and_leaves_timestamps_out(shared: Path, tmp_path: Path) -> None:
    folder = published(shared, "whisper-large-v3", "WhisperTokenizer", tmp_path)
    ours, theirs = both(folder, language="french", task="transcribe")
    assert ours("bonjour")["input_ids"] == [50258, 50265, 50360, 50364, 4351, 8696, 50257]
    options = {"language": "de", "task": "translate"}
    assert ours.get_decoder_prompt_ids(**options) == theirs.get_decoder_prompt_ids(**options)
    assert ours("x")["input_ids"] == theirs("x")["input_ids"]
    for skip in (False, True):
        for shown in (False, True):
            decoding = {"skip_special_tokens": skip, "decode_with_timestamps": shown}
            assert ours.decode(TIMED, **decoding) == theirs.decode(TIMED, **decoding)
    with pytest.raises(ValueError, match="klingon"):
        ours.set_prefix_tokens(language="klingon")


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("MBartTokenizer", {"src_lang": "fr_XX"}),
        ("MBart50Tokenizer", {"src_lang": "fr_XX", "tgt_lang": "de_DE"}),
        ("NllbTokenizer", {}),
    ],
)
def test_targets_are_encoded_in_their_language(source: Path, tmp_path: Path, name: str, stated: Any) -> None:
    ours, theirs = both(trained_class_folders.write(tmp_path, name, source, **stated))
    assert (ours.src_lang, ours.tgt_lang) == (theirs.src_lang, theirs.tgt_lang)
    assert dict(ours(["a b", "c"], text_target=["d", "e f"])) == dict(theirs(["a b", "c"], text_target=["d", "e f"]))
    assert dict(ours(text_target="d")) == dict(theirs(text_target="d"))
    assert dict(ours("a")) == dict(theirs("a"))
    for tok in (ours, theirs):
        tok.add_tokens(["rus_Cyrl"], special_tokens=True)  # which this small vocabulary lacks
        tok.src_lang = "ru_RU" if "Bart" in name else "rus_Cyrl"
    assert dict(ours("a")) == dict(theirs("a"))
    with pytest.raises(TokkitError, match="'xx'"):
        ours.src_lang = "xx"
    assert dict(ours("a")) == dict(theirs("a"))


@pytest.mark.parametrize("separate", [False, True])
def test_marian_encodes_targets_with_their_own_model(source: Path, tmp_path: Path, separate: bool) -> None:
    path, copied = tmp_path / "files", tmp_path / "saved"
    path.mkdir()
    shutil.copy(source / "unigram.model", path / "source.spm")
    shutil.copy(source / "bpe.model", path / "target.spm")
    (path / "vocab.json").write_text(json.dumps(ids_of(path / "source.spm")))
    (path / "target_vocab.json").write_text(json.dumps(ids_of(path / "target.spm")))
    stated = {"tokenizer_class": "MarianTokenizer", "separate_vocabs": separate}
    (path / "tokenizer_config.json").write_text(json.dumps(stated))
    ours, theirs = both(path)
    ours.save_pretrained(copied)
    of_saved = both(copied)
    for text in (">>fr<< Hello world", "Café x", "a b  c"):
        expected = dict(theirs(text, text_target=f"{text} y"))
        for tok in (ours, *of_saved):
            assert dict(tok(text, text_target=f"{text} y")) == expected
        assert ours.decode(expected["input_ids"]) == theirs.decode(expected["input_ids"])


def test_languages_are_refused_by_classes_without_them(source: Path, tmp_path: Path) -> None:
    made = face.AutoTokenizer.from_pretrained(trained_class_folders.write(tmp_path, "BertTokenizer", source))
    with pytest.raises(AttributeError, match="no languages"):
        made.src_lang = "fr"
    assert not hasattr(made, "tgt_lang")


def test_an_argument_that_changes_nothing_is_named(
    source: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = trained_class_folders.write(tmp_path, "BertTokenizer", source)
    with caplog.at_level(logging.WARNING, "tokkit"):
        face.AutoTokenizer.from_pretrained(path, add_bos_tokens=True)
    assert "does not know the argument add_bos_tokens" in caplog.text


@pytest.mark.parametrize(
    ("name", "inputs"), [("LukeTokenizer", {"entity_spans": [(0, 1)]}), ("LayoutLMv3Tokenizer", {"boxes": [[0] * 4]})]
)
def test_inputs_that_are_not_texts_are_refused_by_name(
    source: Path, tmp_path: Path, name: str, inputs: dict[str, Any]
) -> None:
    path = trained_class_folders.write(tmp_path, "RobertaTokenizer", source, tokenizer_class=name)
    entities = {token: id_ for id_, token in enumerate(("[PAD]", "[UNK]", "[MASK]", "[MASK2]"))}
    (path / "entity_vocab.json").write_text(json.dumps(entities))
    made = face.AutoTokenizer.from_pretrained(path)
    with pytest.raises(TokkitError, match=f"{next(iter(inputs))} was given"):
        made("a", **inputs)
