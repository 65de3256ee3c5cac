"""`tokkit model attention` and `fill-mask`: files and lines written, and errors for mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from extras import extra
from model_folders import BERT, tensors_of, write
from tokkit.cli.model_views import attention, fill_mask


def run(command: click.Command, *args: object) -> Result:
    return CliRunner().invoke(command, [str(arg) for arg in args])


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write(tmp_path / "model", tensors=tensors_of(BERT, head=True))


def test_attention_is_written_as_a_page_and_not_over_a_file(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "seen.html"
    done = run(attention, model, "the cat sat", "-o", out)
    assert done.output == f"{out}: 2 layers, 2 heads, 5 tokens\n"
    assert "[CLS]" in out.read_text()
    again = run(attention, model, "the cat sat", "-o", out)
    assert isinstance(again.exception, FileExistsError)
    assert "exists; --force overwrites it" in str(again.exception)
    done = run(attention, model, "the cat", "-o", out, "--force", "--layer", 2, "--head", 1)
    assert done.output == f"{out}: 1 layer, 1 head, 4 tokens\n"


def test_attention_is_drawn_where_matplotlib_is_installed(model: Path, tmp_path: Path) -> None:
    extra("matplotlib")
    out = tmp_path / "seen.png"
    assert run(attention, model, "the cat sat", "-o", out).exit_code == 0
    assert out.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-o", "map.txt"), "ends in neither .html nor .png"),
        (("-o", "map.html", "--layer", 3), "there is no layer 3; this model has 1 to 2"),
        (("-o", "map.html", "--head", 3), "there is no head 3; this model has 1 to 2"),
    ],
)
def test_what_cannot_be_shown_is_wrong_usage(
    model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: tuple[object, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(attention, model, "the cat", *options)
    assert done.exit_code == 2
    assert said in done.output


def test_masks_are_filled_in_a_table_or_in_json(model: Path) -> None:
    done = run(fill_mask, model, "the [MASK] sat", "-k", 2)
    lines = done.output.splitlines()
    assert lines[0].split() == ["token", "id", "probability", "text"]
    assert len(lines) == 3
    (guesses,) = json.loads(run(fill_mask, model, "the [MASK] sat", "-k", 2, "--json").output)
    assert lines[1].split()[0] == guesses[0]["token"]
    assert set(guesses[0]) == {"token", "id", "probability", "text"}
    two = run(fill_mask, model, "[MASK] [MASK]", "-k", 1, "--precision", "int8").output
    assert len(two.splitlines()) == 5


def test_help_says_what_goes_in() -> None:
    assert "MODEL TEXT" in run(attention, "--help").output
    assert "[MASK] or <mask>" in " ".join(run(fill_mask, "--help").output.split())


@pytest.mark.parametrize("command", [attention, fill_mask])
def test_a_name_of_the_hub_is_downloaded_where_that_is_asked_for(
    command: click.Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TOKKIT_OFFLINE", "1")
    monkeypatch.chdir(tmp_path)
    asked = run(command, "org/no-such-model", "a [MASK]", "--download")
    assert "TOKKIT_OFFLINE=1 forbids downloads" in str(asked.exception)
    assert "--download" in str(run(command, "org/no-such-model", "a [MASK]").exception)
