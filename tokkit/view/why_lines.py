"""Explains the tokens of a word at a terminal: the same facts as on the page, as lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tokkit.escaping import visible

SPACE = "\u2423"
MAX_TRIED = 6


def lines(made: Mapping[str, Any]) -> Iterator[str]:
    r"""Yield the result of `why` as lines.

    >>> import tokkit
    >>> from tokkit.view.reasons import why
    >>> tok = tokkit.train({"low": 5, "lowest": 2, "newer": 3}, model="bpe", vocab_size=13)
    >>> print("\n".join(list(lines(why(tok, "lo")))[-8:]))
    l o </w>
      1. l + o  rank 0
         lo </w>
    tree
    ├─ lo  rank 0, step 1
    │  ├─ l
    │  └─ o
    └─ </w>
    """
    yield f"{_clear(made['word'])}: {' '.join(f'{_clear(text)} ({id_})' for text, id_ in made['tokens'])}"
    yield "stages"
    for stage in made["stages"]:
        yield f"  {stage['name']:<26} {' | '.join(map(_clear, stage['pieces']))}"
        changed = [f"{sign}{_clear(text)}" for sign, text in stage["changes"] if sign != "="]
        if changed:
            yield f"  {'':<26} changed: {' '.join(changed)}"
    show = {"bpe": _merges, "unigram": _paths, "wordpiece": _matches}.get(made["kind"])
    if show is None:
        yield f"{made['model']} looks each pretoken up in its vocabulary"
        return
    for word in made["words"]:
        yield from show(word)


def _clear(text: str) -> str:
    return visible(text.replace(" ", SPACE))


def _merges(word: Mapping[str, Any]) -> Iterator[str]:
    yield " ".join(map(_clear, word["symbols"]))
    for number, step in enumerate(word["steps"], 1):
        yield f"  {number}. {_clear(step['left'])} + {_clear(step['right'])}  rank {step['rank']}"
        yield f"     {' '.join(map(_clear, step['symbols']))}"
    if word["steps"]:
        yield "tree"
        yield from _trees(word["trees"], "")


def _trees(trees: list[Mapping[str, Any]], before: str) -> Iterator[str]:
    for i, tree in enumerate(trees):
        last = i == len(trees) - 1
        told = f"  rank {tree['rank']}, step {tree['step'] + 1}" if "parts" in tree else ""
        yield f"{before}{'└─' if last else '├─'} {_clear(tree['text'])}{told}"
        yield from _trees(tree.get("parts", []), before + ("   " if last else "│  "))


def _paths(word: Mapping[str, Any]) -> Iterator[str]:
    yield f"{_clear(word['text'])}: the best segmentations, their scores and probabilities"
    pieces = word["pieces"]
    for path in word["best"]:
        cut = " ".join(f"{_clear(pieces[k]['text'])} ({pieces[k]['score']:.2f})" for k in path["pieces"])
        yield f"  {path['score']:9.3f} {path['chance']:7.2%}  {cut}"


def _matches(word: Mapping[str, Any]) -> Iterator[str]:
    yield f"{_clear(word['text'])}: the longest match at each position"
    for one in word["rounds"]:
        missed = one["tried"][:-1] if one["found"] else one["tried"]
        more = f"{len(missed) - MAX_TRIED} longer ones, " if len(missed) > MAX_TRIED else ""
        tried = f" (not there: {more}{', '.join(map(_clear, missed[-MAX_TRIED:]))})" if missed else ""
        yield f"  {_clear(one['tried'][-1]) if one['found'] else 'no match'}{tried}"
    if word["unknown"]:
        yield f"  so the whole word is {_clear(word['unknown'])}"
