"""Random folders of tokenizer classes give the ids of transformers, or are refused."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sentencepiece_class_folders as made
from extras import extra
from tokkit.registry.tokenizer_classes import folder as folders
from tokkit.registry.tokenizer_classes import model_types
from tokkit.registry.tokenizer_classes.table import CLASSES

transformers = extra("transformers", minversion="5.24")

N_FOLDERS = 120
NO_CONFIG_THERE = {"fastspeech2_conformer", "gemma4_assistant", "gemma3n_vision", "timm_wrapper"}
"""Model types whose empty config.json transformers refuses."""


@pytest.fixture(scope="module", autouse=True)
def quiet() -> Iterator[None]:
    with made.with_packages():
        yield


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made.vocabularies(tmp_path_factory.mktemp("vocabularies"))


@pytest.mark.parametrize("block", range(4))
def test_random_arguments_and_files_give_the_ids_of_transformers(block: int, source: Path, tmp_path: Path) -> None:
    n = N_FOLDERS // 4
    cases = [made.random_case(seed, tmp_path, source, made.NAMES) for seed in range(block * n, block * n + n)]
    assert [case for case in cases if case[1]] == []
    refused = [label for label, _ in cases if "refused" in label or "not loaded" in label]
    assert len(refused) < n / 2


# ---- which class a folder is of


@pytest.fixture
def class_there(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], str]:
    class Found(BaseException):
        pass

    def found(cls: type, *args: Any, **kwargs: Any) -> None:
        raise Found(cls.__name__)

    classes = [transformers.PreTrainedTokenizerBase, transformers.RagTokenizer]
    if hasattr(transformers, "MistralCommonBackend"):
        classes.append(transformers.MistralCommonBackend)
    for cls in classes:
        monkeypatch.setattr(cls, "from_pretrained", classmethod(found))

    def name(folder: Path) -> str:
        with pytest.raises(Found) as caught:
            transformers.AutoTokenizer.from_pretrained(str(folder))
        return str(caught.value)

    return name


DECLARED = (
    *("BertTokenizer", "LlamaTokenizerFast", "PreTrainedTokenizerFast", "TokenizersBackend", "T5TokenizerFast"),
    *("NoSuchTokenizer", "RobertaTokenizerFast", "BloomTokenizerFast", "ByT5Tokenizer", "MistralCommonBackend"),
)


def test_the_class_of_a_folder_is_that_of_auto_tokenizer(class_there: Callable[[Path], str], tmp_path: Path) -> None:
    rng = random.Random(1)
    wrong = []
    for model_type in sorted(model_types.CLASS_OF):
        own = model_types.CLASS_OF[model_type]
        for declared in (None, own, own + "Fast", rng.choice(DECLARED)):
            if declared is None and model_type in NO_CONFIG_THERE:
                continue
            (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
            (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": declared}))
            ours, theirs = folders.class_of(tmp_path), class_there(tmp_path)
            if ours != theirs:
                wrong.append((model_type, declared, ours, theirs))
    assert wrong == []


@pytest.mark.parametrize("declared", DECLARED)
def test_the_class_of_a_folder_without_a_model_is_that_of_auto_tokenizer(
    class_there: Callable[[Path], str], tmp_path: Path, declared: str
) -> None:
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": declared}))
    assert folders.class_of(tmp_path) == class_there(tmp_path)


def test_every_class_of_a_model_type_has_a_row() -> None:
    names = {folders.choice.name_of(name) for name in model_types.CLASS_OF.values()}
    assert sorted(names - CLASSES.keys()) == []
