"""Draws the bar charts of docs/speed.md from the `--json` files in docs/speed, as SVG in docs/drawings.

Figures are those of the files, as the programs printed them; nothing is measured here.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.corpora import ROOT

# The tree itself may be off the path (benchmarks/__init__.py says when).
sys.path.append(str(ROOT / "data"))
from drawing import Drawing

RESULTS = ROOT / "docs" / "speed"
DRAWINGS = ROOT / "docs" / "drawings"

LEFT, RIGHT = 232.0, 440.0
"""Where bars begin, and where the longest ends."""

KINDS = {"tokkit": "hot"}
"""The look of a contender's bars; "cool" is that of all others."""


def rows_of(results: dict[str, Any], section: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (title, row) of the tables of a section, or of all."""
    for table in results["tables"]:
        if section in ("", table["section"]):
            for row in table["rows"]:
                yield table["title"], row


def chart(title: str, groups: dict[str, list[tuple[str, float, str]]], unit: str, note: str) -> Drawing:
    """Draw groups of bars; a bar is (name, length, what is written behind it)."""
    n_bars = sum(map(len, groups.values()))
    drawing = Drawing(title, 690, 74 + 18 * n_bars + 12 * len(groups))
    longest = max(length for bars in groups.values() for _, length, _ in bars)
    drawing.label(14, 30, unit, "left head")
    y = 44.0
    for group, bars in groups.items():
        drawing.label(14, y + 11, group, "left head")
        for name, length, text in bars:
            if name:
                drawing.label(LEFT - 8, y + 11, name, "right small")
            drawing.bar(LEFT, y, (RIGHT - LEFT) * length / longest, kind=KINDS.get(name, "cool"))
            drawing.label(LEFT + (RIGHT - LEFT) * length / longest + 8, y + 11, text, "left small")
            y += 18
        y += 12
    drawing.label(14, y + 8, note, "left small")
    return drawing


def note(results: dict[str, Any]) -> str:
    """Return the line of conditions below a chart."""
    conditions = results["conditions"]
    cpu = conditions["CPU"].split(" for this process")[0].rpartition(",")[0]
    threads = conditions["threads"].split(",")[0].strip("[]")
    return f"{cpu}; threads: {threads}; × is a ratio of times, of medians or in the same rounds"


def encoding(results: dict[str, Any], section: str, kind: str) -> Drawing:
    """Chart MB/s of text to ids, a group a corpus."""
    groups: dict[str, list[tuple[str, float, str]]] = {}
    for title, row in rows_of(results, section):
        if f"{kind} MB/s" in row:
            rate, times = row[f"{kind} MB/s"], float(row[f"tokkit × {kind}"])
            said = rate if row[""] == "tokkit" else f"{rate}  (tokkit × {times:.3g})"
            said += "" if row["differing documents"] == "0" else f", {row['differing documents']} documents differ"
            groups.setdefault(title.split(":")[0], []).append((row[""], float(rate), said))
    passes = {"warm": "later passes", "cold": "first pass of a fresh tokenizer"}[kind]
    return chart(f"Text to ids by {section}: {passes}", groups, f"MB/s, {passes}, {section}", note(results))


def calls(results: dict[str, Any], section: str) -> Drawing:
    """Chart microseconds of one call, a group a length."""
    groups: dict[str, list[tuple[str, float, str]]] = {}
    for _, row in rows_of(results, section):
        if row.get("") == "encode to list":
            for size in ("11 B", "100 B", "1 kB"):
                groups.setdefault(size, []).append((row["µs a call"], float(row[size]), f"{row[size]} µs"))
    # Each length has a scale of its own: the longest bar of a group is that of its slowest.
    scaled = {
        size: [(name, length / max(one for _, one, _ in bars), text) for name, length, text in bars]
        for size, bars in groups.items()
    }
    title = f"One call of encode to a list of ids, {section}"
    return chart(title, scaled, f"µs a call, {section}; shorter is faster", note(results))


def files(results: dict[str, Any]) -> Drawing:
    """Chart how many times tokenizers' speed each tokenizer.json has, on English."""
    groups: dict[str, list[tuple[str, float, str]]] = {}
    for _, row in rows_of(results):
        if row["corpus"] == "english-prose":
            for kind in ("warm", "cold"):
                times, rate = row[f"{kind} × tokenizers"], row[f"{kind} MB/s"]
                groups.setdefault(row["file"], []).append((kind, float(times), f"{rate} MB/s, × {times}"))
    return chart("tokenizer.json files: times the speed of tokenizers", groups, "× tokenizers, English", note(results))


def sentencepiece(results: dict[str, Any]) -> Drawing:
    """Chart how many times sentencepiece's speed each model has."""
    groups: dict[str, list[tuple[str, float, str]]] = {}
    for _, row in rows_of(results):
        if "corpus" in row:
            name = f"{row['model']}, {row['corpus'].removesuffix('-prose')}, {int(row['size']) // 1000} kB"
            for kind in ("warm", "cold"):
                times, rate = row[f"× {kind}"], f"{float(row[f'tokkit {kind}']):.0f}"
                said = f"{rate} MB/s, × {times}"
                if giga := row.get(f"× giga {kind}"):
                    said += f"; gigatoken × {giga}"
                groups.setdefault(name, []).append((kind, float(times), said))
    return chart(".model files: times the speed of sentencepiece", groups, "× sentencepiece", note(results))


def training(results: dict[str, Any]) -> Drawing:
    """Chart the processor time of training, whole processes."""
    rows = [row for _, row in rows_of(results)]
    ours = float(next(row["cpu s"] for row in rows if row[""] == "tokkit"))
    bars = []
    for row in rows:
        seconds = float(row["cpu s"])
        times = "" if row[""] == "tokkit" else f" (tokkit × {seconds / ours:.3g})"
        bars.append((row[""], seconds, f"{seconds:g} s, {row['peak MiB']} MiB{times}"))
    title = results["tables"][0]["title"]
    return chart(f"Training: {title}", {"": bars}, f"processor s, {title}", note(results))


def loading(results: dict[str, Any]) -> Drawing:
    """Chart how long it takes until a tokenizer.json has given its first ids."""
    groups: dict[str, list[tuple[str, float, str]]] = {}
    for _, row in rows_of(results):
        for name in ("tokkit", "tokenizers"):
            taken = row[f"first ids: {name} ms"]
            group = row["vocabulary"].replace("bert-base-", "bert ").removesuffix("-cased")
            groups.setdefault(group, []).append((name, float(taken), f"{taken} ms"))
    return chart("Loading a tokenizer.json", groups, "ms to load and to give the first ids", note(results))


WIDTHS = {
    "4 bits": ("int4", "Q4_0"), "8 bits": ("int8", "int8-weight-only", "Q8_0"), "16 bits": ("bf16", "BF16", "F16"),
    "32 bits": ("fp32", "F32"),
}  # fmt: skip
"""How wide weights are → how contenders call that."""
DECODING = ["decode at 16", "decode at 1000"]


def generating(results: dict[str, Any], model: str, works: list[str]) -> Drawing:
    """Chart tokens a second, a group for a work and a width of weights: the fastest of each library."""
    groups: dict[str, list[tuple[str, float, str]]] = {}
    for work in works:
        for width, names in WIDTHS.items():
            best: dict[str, tuple[float, str]] = {}
            for title, row in rows_of(results, model):
                library, _, rest = row.get("contender", "").partition(" ")
                if title == f"{model}: {work}" and rest.split(",")[0] in names:
                    rate = float(row["tokens/s"].replace(",", ""))
                    times = f" (× {row['×']})" if row["×"] else ""
                    best[library] = max(best.get(library, (0.0, "")), (rate, f"{rate:.0f}: {rest}{times}"))
            bars = [(library, *found) for library, found in best.items()]
            if bars:
                groups[f"{work.removeprefix('decode ')}, {width}"] = bars
    doing = works[0].split()[0]
    title = f"{model}: {doing}, tokens/s, the fastest of each library"
    return chart(title, groups, f"{doing}, tokens/s, {model}", note(results))


CHARTS: dict[str, tuple[str, Callable[[dict[str, Any]], Drawing]]] = {
    "speed-cl100k-warm": ("encode", lambda found: encoding(found, "cl100k_base", "warm")),
    "speed-cl100k-cold": ("encode", lambda found: encoding(found, "cl100k_base", "cold")),
    "speed-o200k-warm": ("encode", lambda found: encoding(found, "o200k_base", "warm")),
    "speed-o200k-cold": ("encode", lambda found: encoding(found, "o200k_base", "cold")),
    "speed-calls": ("encode", lambda found: calls(found, "cl100k_base")),
    "speed-files": ("files", files),
    "speed-sentencepiece": ("sentencepiece", sentencepiece),
    "speed-loading": ("load", loading),
    "speed-training": ("train", training),
    "speed-training-wordpiece": ("train-wordpiece", training),
    "speed-decoding-llama": (
        "generate",
        lambda found: generating(found, "Llama 125M", DECODING),
    ),
    "speed-prefill-llama": ("prefill", lambda found: generating(found, "Llama 125M", ["prefill 512"])),
    "speed-decoding-gpt2": (
        "generate",
        lambda found: generating(found, "GPT-2 small", DECODING),
    ),
}
"""Name of a chart → the file of results, and what draws it."""


def main() -> None:
    """Write the charts, or compare them with those on disk."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare with the files on disk")
    check = parser.parse_args().check
    for name, (source, draw) in CHARTS.items():
        path = DRAWINGS / f"{name}.svg"
        svg = draw(json.loads((RESULTS / f"{source}.json").read_text(encoding="utf-8"))).svg()
        if not check:
            path.write_text(svg, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != svg:
            sys.exit(
                f"{path.relative_to(ROOT)} is not what benchmarks/charts.py draws: run python -m benchmarks.charts"
            )


if __name__ == "__main__":
    main()
