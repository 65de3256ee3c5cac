"""Drawings and charts of docs/: each is what its program draws, and is an SVG that any page can show."""

from __future__ import annotations

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


def checked(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a program's `--check` with the tokkit that the tests run."""
    path = [str(Path(tokkit.__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
    environment.pop("PYTHONSAFEPATH", None)  # the programs import what stands beside them
    command = (sys.executable, *command, "--check")
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_the_drawings_on_disk_are_those_that_tokkit_draws() -> None:
    done = checked("data/make_drawings.py")
    assert done.returncode == 0, done.stderr


def test_every_page_of_a_stage_has_a_drawing() -> None:
    names = {path.stem for path in SVGS}
    stages = {path.stem for path in (ROOT / "docs" / "how-it-works").glob("*.md")}
    assert stages
    assert stages <= names


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
        assert 0 <= float(text.attrib["x"]) <= width
        assert 0 <= float(text.attrib["y"]) <= height
