"""Drawings and charts of docs/ are up to date with their programs, and are SVG that any page can show."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import tokkit

ROOT = Path(__file__).resolve().parent.parent
SVGS = sorted((ROOT / "docs" / "drawings").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"


RESULTS = """
from benchmarks import harness
harness.Parser(None).parse_args(["--json", {path!r}, "--clock", "cpu"])
harness.show_conditions("1", corpus="none")
harness.section("one")
harness.show("a table", [{{"": "tokkit", "MB/s": 12.5}}])
"""


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the root of the tree, with the tokkit that the tests run."""
    path = [str(Path(tokkit.__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    environment.pop("PYTHONSAFEPATH", None)  # the programs import what stands beside them
    command = (sys.executable, *command)
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_the_drawings_on_disk_are_those_that_tokkit_draws() -> None:
    done = run("data/make_drawings.py", "--check")
    assert done.returncode == 0, done.stderr


def test_the_charts_on_disk_are_drawn_from_the_results_on_disk() -> None:
    done = run("-m", "benchmarks.charts", "--check")
    assert done.returncode == 0, done.stderr


def test_a_benchmark_writes_what_it_shows(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    done = run("-c", RESULTS.format(path=str(path)))
    assert done.returncode == 0, done.stderr
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["conditions"]["clock"] == "cpu"
    assert found["conditions"]["corpus"] == "none"
    assert found["tables"] == [{"section": "one", "title": "a table", "rows": [{"": "tokkit", "MB/s": "12.5"}]}]
    assert "12.5" in done.stdout


def test_every_stage_and_every_set_of_results_has_a_drawing() -> None:
    names = {path.stem for path in SVGS}
    stages = {path.stem for path in (ROOT / "docs" / "how-it-works").glob("*.md")}
    assert stages
    assert stages <= names
    shown = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    assert all(f"drawings/{name}.svg" in shown for name in names - stages)


@pytest.mark.parametrize("path", SVGS, ids=lambda path: path.stem)
def test_a_drawing_has_a_title_both_themes_and_its_parts_inside(path: Path) -> None:
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    title, style = root.find(f"{SVG}title"), root.find(f"{SVG}style")
    assert title is not None
    assert title.text
    assert style is not None
    assert "prefers-color-scheme:dark" in (style.text or "")
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for rect in root.iter(f"{SVG}rect"):
        x, y, w, h = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
    for text in root.iter(f"{SVG}text"):
        looks, x = text.attrib.get("class", "").split(), float(text.attrib["x"])
        long = len(text.text or "") * (6.7 if "small" in looks else 7.9)
        left = x if "left" in looks else x - long if "right" in looks else x - long / 2
        assert 0 <= left <= left + long <= width, text.text
        assert 0 <= float(text.attrib["y"]) <= height
