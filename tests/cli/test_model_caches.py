"""`tokkit model generate` and `chat` with caches: saved to files, in several dtypes, and reused from turn to turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import generators
from tokkit.pipeline import prompt_cache

if TYPE_CHECKING:
    from conftest import Run


def test_what_was_read_is_kept_in_a_file(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    generators.folder(Path("model"))
    again = ("model", "generate", "model", "the cat sat on the mat", "-n", 5)
    plain = run(*again).stdout
    taken: list[int] = []
    take = prompt_cache.PromptCache.take

    def counted(self: prompt_cache.PromptCache, ids, capacity: int):
        made = take(self, ids, capacity)
        taken.append(0 if made is None else made.length)
        return made

    monkeypatch.setattr(prompt_cache.PromptCache, "take", counted)
    for cache in (None, "bfloat16", "int8"):
        file = f"{cache}.safetensors"
        more = ("--prompt-cache", file, *(("--cache", cache) if cache else ()))
        assert run(*again, *more).stdout == run(*again, *more).stdout
        assert taken[-2:] == [0, 5]  # the last token of a prompt is always read
        if cache is None:
            assert run(*again, *more).stdout == plain
            assert json.loads(run(*again, *more, "--json").stdout)["text"] + "\n" == plain
        assert Path(file).stat().st_size > 500
    refused = run(*again, "--prompt-cache", "int8.safetensors")
    assert refused.exit_code == 1
    assert "int8.safetensors: the keys and values have dtype 'int8'; the model was loaded with cache='float32'" in (
        refused.stderr
    )


def test_a_text_may_outgrow_the_positions(run: Run) -> None:
    generators.folder(Path("model"), eos_token_id=319)
    long = run("model", "generate", "model", "the cat", "-n", 90, "--context-shift", 4, "--json")
    assert len(json.loads(long.stdout)["ids"]) == 90
    assert len(json.loads(run("model", "generate", "model", "the cat", "-n", 90, "--json").stdout)["ids"]) < 64


def test_a_chat_reads_only_what_is_new(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("jinja2", reason="needs the extra chat")
    home = generators.folder(Path("model"), max_position_embeddings=600)
    (home / "chat_template.jinja").write_text(
        "{% for m in messages %}<|{{ 'user' if m.role == 'user' else 'model' }}|>{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}<|model|>{% endif %}"
    )
    read: list[tuple[int, int]] = []
    take = prompt_cache.PromptCache.take

    def counted(self: prompt_cache.PromptCache, ids, capacity: int):
        made = take(self, ids, capacity)
        read.append((len(ids), 0 if made is None else made.length))
        return made

    monkeypatch.setattr(prompt_cache.PromptCache, "take", counted)
    result = run("model", "chat", "model", "-n", 4, input="the cat sat on the mat\nthe dog\n")
    assert result.exit_code == 0
    (first, before), (_, reused) = read
    assert before == 0
    assert reused >= first


def test_a_model_that_writes_no_text_has_no_cache(run: Run) -> None:
    result = run("model", "perplexity", "nowhere", __file__, "--cache", "int4")
    assert result.exit_code == 2
    assert "'int4' is not one of 'float32', 'bfloat16', 'int8'" in result.stderr


def test_a_prompt_on_stdin_is_utf_8(run: Run) -> None:
    folder = generators.folder(Path("model"))
    plain = run("model", "generate", folder, "naïve cat", "-n", 5).stdout
    assert run("model", "generate", folder, "-", "-n", 5, input="naïve cat".encode()).stdout == plain
    refused = run("model", "generate", folder, "-", input=b"caf\xe9")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "standard input: byte 3 (0xe9) is not UTF-8" in refused.stderr
