"""`tokkit model finetune` on the command line: what it writes and prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import model_folders

if TYPE_CHECKING:
    from conftest import Run

WORDS = ["cat", "mat", "bank", "money", "river", "sat"]


def test_the_command_writes_models_that_other_commands_take(run: Run) -> None:
    model_folders.write(Path("base"))
    rows = [[f"the {a} {b}", f"a {b} of the {a}"] for a in WORDS for b in WORDS if a != b]
    Path("pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Path("labels.tsv").write_text("".join(f"{row[0]}\t{'xy'[i % 2]}\n" for i, row in enumerate(rows)))
    tune = ["model", "finetune", "--from", "base", "--batch", "4"]
    done = run(*tune, "pairs.jsonl", "-o", "vectors", "--steps", "2", "--progress", "json")
    assert done.exit_code == 0, done.stderr
    *told, last = done.stderr.splitlines()
    assert json.loads(told[-1])["done"] == 2
    assert last.startswith("tokkit: vectors: ")
    assert "2 steps, " in last
    assert last.endswith("% are classified correctly")
    similar = ["model", "similarity", "--model", "vectors", "the cat", "a mat"]
    assert run(*similar).exit_code == 0
    again = run(*tune, "pairs.jsonl", "-o", "vectors", "--steps", "2")
    assert again.exit_code == 1
    assert "not empty" in again.stderr
    assert run(*tune, "pairs.jsonl", "-o", "vectors", "--steps", "2", "--force").exit_code == 0
    labels = [*tune, "labels.tsv", "--task", "labels", "--epochs", "1"]
    assert run(*labels, "-o", "classifier", "--freeze").exit_code == 0
    assert run("model", "classify", "classifier", "the cat").exit_code == 0
    adapted = run(*labels, "-o", "adapter", "--lora", "2", "--dropout", "0.1", "--attention-dropout", "0.2")
    assert adapted.exit_code == 0, adapted.stderr
    assert run("model", "classify", "adapter", "the cat").exit_code == 0
    assert run("model", "merge", "base", "adapter", "-o", "merged").exit_code == 0
    assert run("model", "classify", "merged", "the cat").exit_code == 0
    both = run(*tune, "pairs.jsonl", "-o", "other", "--freeze")
    assert both.exit_code == 1
    assert "--freeze applies only to --task labels" in both.stderr
    missing = run(*tune, "pairs.jsonl", "-o", "vectors", "--resume")
    assert missing.exit_code == 1
    assert "to resume from" in missing.stderr
