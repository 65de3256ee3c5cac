"""The drop-in for transformers' tokenizers on a small vocabulary, if transformers is not installed."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokkit
from tokkit.compat import transformers as face

TEXT = ["low lower lowest newest widest: user assistant hello " * 20]
ROLES = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]", "mask_token": "[MASK]"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("model")
    tokkit.train(iter(TEXT), model="wordpiece", vocab_size=64).save(place / "tokenizer.json")
    config = {"tokenizer_class": "BertTokenizer", "model_max_length": 16}
    (place / "tokenizer_config.json").write_text(json.dumps(config))
    return place


@pytest.fixture
def tok(folder: Path) -> Any:
    return face.AutoTokenizer.from_pretrained(folder)


@pytest.fixture(scope="module")
def byte_level() -> Any:
    made = tokkit.train(iter(TEXT), vocab_size=280, special_tokens=["<end>"])
    return face.PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<end>", pad_token="<end>")


def test_the_class_of_a_configuration_gives_roles_and_inputs(tok: Any) -> None:
    assert type(tok) is face.BertTokenizer is face.BertTokenizerFast
    assert isinstance(tok, face.PreTrainedTokenizerFast)
    assert tok.special_tokens_map == ROLES
    assert tok.model_input_names == ["input_ids", "token_type_ids", "attention_mask"]
    assert (tok.model_max_length, tok.padding_side, tok.cls_token_id) == (16, "right", tok.vocab["[CLS]"])


def test_an_unknown_class_and_an_unknown_attribute_are_attribute_errors(tok: Any) -> None:
    with pytest.raises(AttributeError, match="NoSuchTokenizer"):
        face.NoSuchTokenizer  # noqa: B018
    with pytest.raises(AttributeError, match="colour"):
        tok.colour  # noqa: B018


def test_a_call_returns_lists_without_tensors(tok: Any) -> None:
    made = tok("low newest", "lower")
    assert list(made) == ["input_ids", "token_type_ids", "attention_mask"]
    assert made.tokens() == ["[CLS]", "low", "newest", "[SEP]", "lower", "[SEP]"]
    assert made["token_type_ids"] == made.token_type_ids == [0, 0, 0, 0, 1, 1]
    assert tok.convert_ids_to_tokens(made["input_ids"]) == made.tokens()
    assert made.char_to_token(4) == 2
    assert made.word_ids() == [None, 0, 1, None, 0, None]


@pytest.mark.parametrize("side", ["left", "right"])
def test_arrays_equal_lists(tok: Any, side: str) -> None:
    tok.padding_side = side
    texts = ["low", "lower lowest", ""]
    arrays = tok(texts, padding=True, return_tensors="np", return_special_tokens_mask=True)
    lists = tok(texts, padding=True, return_special_tokens_mask=True, return_offsets_mapping=True)
    for name, array in arrays.items():
        assert array.dtype == np.int64
        assert array.tolist() == lists[name]
    assert [arrays.tokens(i) for i in range(3)] == [lists.tokens(i) for i in range(3)]


def test_padding_and_truncation_to_the_models_length(tok: Any) -> None:
    made = tok(["low " * 40, "low"], padding="max_length", truncation=True, return_tensors="np")
    assert made.input_ids.shape == (2, 16)
    assert made.attention_mask.sum(axis=1).tolist() == [16, 3]


def test_overflowing_tokens_name_their_text(tok: Any) -> None:
    made = tok(["low " * 6, "low"], truncation=True, max_length=5, stride=1, return_overflowing_tokens=True)
    assert made["overflow_to_sample_mapping"] == [0, 0, 0, 1]
    assert [len(ids) for ids in made["input_ids"]] == [5, 5, 4, 3]


def test_a_batch_mixes_texts_and_pairs(tok: Any) -> None:
    made = tok([("low", "lower"), "newest", ("low low", "low")], padding=True)
    assert [made.tokens(i)[-2:] for i in range(3)] == [["[SEP]", "[PAD]"], ["[PAD]", "[PAD]"], ["low", "[SEP]"]]
    assert [made.token_type_ids[i] for i in (1, 2)] == [[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1]]
    words = tok([["low", "lower"], (["newest"], ["low"])], is_split_into_words=True)
    assert [words.tokens(i)[1:-1] for i in range(2)] == [["low", "lower"], ["newest", "[SEP]", "low"]]
    assert tok("low", "")["input_ids"] == tok("low")["input_ids"]


def test_a_warning_of_long_texts_is_given_once(tok: Any, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        tok("low " * 40)
        assert [record.name.partition(".")[0] for record in caplog.records] == ["transformers"]
    tok.deprecation_warnings.clear()
    tok("low " * 40)
    assert len(caplog.records) == 2


def test_a_special_token_in_text_is_special_unless_it_is_split(byte_level: Any) -> None:
    assert byte_level("a<end>")["input_ids"][-1] == byte_level.eos_token_id
    assert byte_level.eos_token_id not in byte_level("a<end>", split_special_tokens=True)["input_ids"]


def test_ids_of_every_kind_of_sequence_are_decoded(tok: Any) -> None:
    ids = tok("low newest")["input_ids"]
    text = tok.decode(ids)
    labels = np.array([-100, *ids])
    for given in (tuple(ids), iter(ids), {"input_ids": ids}, [id_ for id_ in labels if id_ != -100], labels[1:]):
        assert tok.decode(given) == text
    assert tok.decode(range(5, 7)) == tok.decode([5, 6])
    assert tok.batch_decode(tuple(iter(row)) for row in (ids, ids[1:])) == [text, tok.decode(ids[1:])]
    assert tok.batch_decode([]) == []
    for wrong in ({5, 6}, "5", [5.0], [[5], "6"], None):
        with pytest.raises(TypeError, match=r"ids are|an id is"):
            tok.decode(wrong)


def test_padding_without_a_padding_token_is_an_error_that_says_what_to_do(byte_level: Any) -> None:
    bare = copy.copy(byte_level)
    bare.pad_token = None
    with pytest.raises(ValueError, match=r"set tokenizer\.pad_token"):
        bare(["a", "b c"], padding=True)
    assert byte_level.pad_token == "<end>"


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda t: t(), ValueError, "neither text nor text_target"),
        (lambda t: t([]), IndexError, "the batch is empty"),
        (lambda t: t(3), ValueError, "text is 3"),
        (lambda t: t(["a"], "b"), TypeError, "text_pair is str"),
        (lambda t: t(["a"], ["b", "c"]), ValueError, "1 texts and 2 pairs"),
        (lambda t: t("a", return_tensors="tf"), ValueError, "'tf'; it must be one of pt, np"),
        (lambda t: t(["a b", "c"], padding="x"), ValueError, "padding is 'x'"),
        (lambda t: t("a", truncation=True, max_length=-1), OverflowError, "max_length is -1"),
        (lambda t: t.decode([-1]), OverflowError, "the id -1"),
        (lambda t: t.add_special_tokens({"x": "y"}), ValueError, "the roles are bos_token"),
        (lambda t: t.pad({"x": [1]}), ValueError, "there must be input_ids"),
        (lambda t: t.apply_chat_template([{"role": "user"}]), ValueError, "no chat template"),
        (lambda t: setattr(t, "pad_token", 3), ValueError, "pad_token is 3"),
        (lambda t: t.save_pretrained("x", push_to_hub=True), ValueError, "uploads nothing"),
    ],
)
def test_errors_have_classes_of_the_original_and_say_what_is_right(
    tok: Any, call: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        call(tok)


def test_the_mask_of_special_tokens_is_known_before_and_after_they_are_added(tok: Any) -> None:
    ids = tok("low newest", "lower")["input_ids"]
    mask = tok.get_special_tokens_mask(ids, already_has_special_tokens=True)
    assert mask == tok.get_special_tokens_mask(ids[1:3], ids[4:5]) == [1, 0, 0, 1, 0, 1]


def test_added_tokens_are_whole_and_last(tok: Any) -> None:
    n = len(tok)
    assert tok.add_tokens(["<image>", face.AddedToken("<b>", special=True), "low"]) == 3
    assert tok.convert_tokens_to_ids(["<image>", "<b>"]) == [n, n + 1]
    assert (len(tok), tok.vocab_size) == (n + 2, n)
    assert tok.tokenize("low<image>low") == ["low", "<image>", "low"]
    assert tok.decode([n, n + 1], skip_special_tokens=True) == "<image>"


def test_roles_may_be_set_by_text_or_id(tok: Any) -> None:
    tok.bos_token_id = tok.sep_token_id
    assert (tok.bos_token, tok.bos_token_id) == ("[SEP]", tok.sep_token_id)
    tok.add_special_tokens({"eos_token": "<eos>", "extra_special_tokens": ["<x>"]})
    assert tok.eos_token_id == len(tok) - 2
    assert tok.all_special_tokens == ["[SEP]", "<eos>", "[UNK]", "[PAD]", "[CLS]", "[MASK]", "<x>"]


def test_saved_tokenizers_load_again(tok: Any, tmp_path: Path) -> None:
    tok.add_special_tokens({"bos_token": "<b>"})
    tok.chat_template = "{{ messages[0].content }}"
    files = [Path(file).name for file in tok.save_pretrained(tmp_path)]
    assert files == ["tokenizer_config.json", "chat_template.jinja", "tokenizer.json"]
    again = face.AutoTokenizer.from_pretrained(tmp_path)
    assert type(again) is face.BertTokenizer
    assert again("<b> low")["input_ids"] == tok("<b> low")["input_ids"]
    assert (again.bos_token, again.chat_template, len(again)) == ("<b>", tok.chat_template, len(tok))


def test_names_of_chat_templates_cannot_leave_the_folder(tok: Any, tmp_path: Path) -> None:
    tok.chat_template = {"default": "a", "../../other": "b"}
    with pytest.raises(ValueError, match=r"'\.\./\.\./other'; it must be a valid file name"):
        tok.save_pretrained(tmp_path / "a")
    assert not list(tmp_path.rglob("*.jinja"))


def test_copies_and_pickles_are_independent(tok: Any) -> None:
    for made in (copy.deepcopy(tok), copy.copy(tok), pickle.loads(pickle.dumps(tok))):
        made.add_tokens(["<new>"])
        made.pad_token = "<new>"
        assert made("low")["input_ids"] == tok("low")["input_ids"]
        assert (len(made), made.pad_token, tok.pad_token) == (len(tok) + 1, "<new>", "[PAD]")
    batch = pickle.loads(pickle.dumps(tok(["low"], padding=True, return_tensors="np")))
    assert batch.tokens() == ["[CLS]", "low", "[SEP]"]


def test_encodings_are_made_when_they_are_asked_for(tok: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    made = tok(["low", "lower"], padding=True, return_tensors="np")
    encodings = tok._encodings
    monkeypatch.setattr(type(tok), "_encodings", lambda self, request: calls.append(1) or encodings(request))
    made = tok(["low", "lower"], padding=True, return_tensors="np")
    assert not calls
    assert made.word_ids(1) == [None, 0, None]
    assert made.tokens(0) == ["[CLS]", "low", "[SEP]"]
    assert calls == [1]


def test_the_file_of_a_vocabulary_is_copied(folder: Path, tmp_path: Path) -> None:
    place = tmp_path / "model"
    place.mkdir()
    (place / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    with pytest.raises(ValueError, match="there is no file of a vocabulary to copy"):
        face.AutoTokenizer.from_pretrained(place).save_vocabulary(tmp_path)
    for name, copied in (("vocab.txt", "vocab.txt"), ("spiece.model", "tokenizer.model")):
        (place / name).write_text("[UNK]")
        tok = face.AutoTokenizer.from_pretrained(place)
        assert tok.save_vocabulary(tmp_path) == (str(tmp_path / copied),)
        assert (tmp_path / copied).read_text() == "[UNK]"
        assert tok.save_vocabulary(tmp_path, "x") == (str(tmp_path / f"x-{copied}"),)
        assert tok.save_vocabulary(tmp_path / "none") is None


def test_names_of_base_classes_are_for_annotations_and_isinstance(tok: Any) -> None:
    assert isinstance(tok, face.PreTrainedTokenizerBase)
    assert not isinstance(tok, face.PreTrainedTokenizer)
    with pytest.raises(ValueError, match="in Python code, which tokkit does not run"):
        face.PreTrainedTokenizer()


def test_truncation_and_padding_are_set_on_the_backend_by_name(tok: Any) -> None:
    tok.set_truncation_and_padding("max_length", "longest_first", 4, 0, None)
    assert tok.backend_tokenizer.encode("low " * 9).tokens == ["[CLS]", "low", "low", "[SEP]"]
    assert tok.backend_tokenizer.encode("low").tokens == ["[CLS]", "low", "[SEP]", "[PAD]"]
    assert len(tok("low " * 9)["input_ids"]) == 11
    with pytest.raises(ValueError, match="truncation_strategy is 'x'; it must be one of only_first"):
        tok.set_truncation_and_padding("longest", "x", 4, 0, None)


def test_a_file_for_a_version_of_transformers_is_chosen(folder: Path, tmp_path: Path) -> None:
    value = json.loads((folder / "tokenizer.json").read_text())
    (tmp_path / "tokenizer.json").write_text(json.dumps(value))
    value["model"]["vocab"]["unseen"] = max(value["model"]["vocab"].values()) + 1
    for version, n in (("4.0.0", 1), ("42.0.0", 0), ("5.24", 1)):
        (tmp_path / f"tokenizer.{version}.json").write_text(json.dumps(value))
        names = [f"tokenizer.{version}.json", "tokenizer.json"]
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"fast_tokenizer_files": names}))
        assert len(face.AutoTokenizer.from_pretrained(tmp_path)) == len(face.AutoTokenizer.from_pretrained(folder)) + n


def test_training_keeps_components_and_roles(tok: Any, byte_level: Any) -> None:
    new = tok.train_new_from_iterator([["ape apes"], ["aping apes"]], 30, new_special_tokens=["<x>"])
    assert type(new) is face.BertTokenizer
    assert new.tokenize("Apes low") == ["apes", "[UNK]"]
    assert new.convert_ids_to_tokens(list(range(6))) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<x>"]
    assert new("apes")["input_ids"][0] == 2
    renamed = byte_level.train_new_from_iterator(["aa aa"], 258, special_tokens_map={"<end>": "<stop>"})
    assert (renamed.eos_token, renamed.eos_token_id, len(renamed)) == ("<stop>", 0, 258)
    assert renamed.decode(renamed("aa")["input_ids"]) == "aa"


@pytest.mark.parametrize("model", ["bpe", "unigram", "word"])
def test_every_model_can_be_trained_anew(model: str) -> None:
    options: dict[str, Any] = {} if model == "word" else {"vocab_size": 60}
    made = face.PreTrainedTokenizerFast(tokenizer_object=tokkit.train(iter(TEXT), model=model, **options))
    new = made.train_new_from_iterator([["ape apes"] * 9, ["aping apes"]], 40, show_progress=False)
    assert new.decode(new("ape apes")["input_ids"]).split() == ["ape", "apes"]
    assert len(new) <= 40


def test_a_tokenizer_of_tokkit_comes_back(byte_level: Any) -> None:
    assert tokkit.from_transformers(byte_level).encode("low") == byte_level("low")["input_ids"]
    with pytest.raises(tokkit.OptionError, match="backend of the tokenizers library"):
        tokkit.from_transformers(3)


def test_chats_become_ids_with_a_mask_of_the_assistants(byte_level: Any) -> None:
    pytest.importorskip("jinja2")
    tok = copy.copy(byte_level)
    generated = "{% generation %}{{ m.content }}{% endgeneration %}"
    tok.chat_template = "{% for m in messages %}{{ m.role }}:" + generated + "{{ eos_token }}{% endfor %}"
    chat = [{"role": "user", "content": "low <end>"}]
    assert tok.apply_chat_template(chat, tokenize=False) == "user:low <end><end>"
    assert tok.apply_chat_template(chat)["input_ids"].count(tok.eos_token_id) == 2
    safe = tok.apply_chat_template(chat, sanitize_control_tokens=True)
    assert safe["input_ids"].count(tok.eos_token_id) == 1
    assert tok.apply_chat_template(chat, continue_final_message=True, tokenize=False) == "user:low <end>"
    made = tok.apply_chat_template(chat, return_assistant_tokens_mask=True)
    shown = [id_ for id_, mine in zip(made["input_ids"], made["assistant_masks"], strict=True) if mine]
    assert tok.decode(shown) == "low <end>"
    import jinja2

    with pytest.raises(jinja2.TemplateError, match="no system"):
        tok.apply_chat_template(chat, chat_template="{{ raise_exception('no system') }}")


def test_extra_special_tokens_by_two_names_are_refused(tok: Any) -> None:
    with pytest.raises(ValueError, match="were both given"):
        tok.add_special_tokens({"additional_special_tokens": ["<a>"], "extra_special_tokens": ["<b>"]})
    assert tok.add_special_tokens({"additional_special_tokens": ["<a>"], "extra_special_tokens": []}) == 1
