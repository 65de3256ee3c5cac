"""Times training of SentencePiece models, and measures how good they are.

Speed: whole processes, from before their start to the end of training. Quality: both train on the first nine tenths
of a corpus, to the same size (the greatest that sentencepiece allows, where that is less); of the rest, as normalized,
are measured the tokens of the best segmentation and the log-likelihood over all of them, by scores made to sum up to
1. Exit status 1 if a Unigram model of tokkit's takes more tokens or is less likely, if BPE has other pieces than
sentencepiece, or if the number of threads changes a model of tokkit's.
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import corpora, harness
from benchmarks.sentencepiece_job import TRAINERS
from tokkit._core.charsmap import Normalizer
from tokkit._core.train.sp_train import PieceRules
from tokkit._core.train.word_counts import WordCounts
from tokkit.formats import sentencepiece
from tokkit.models.sentencepiece import NORMAL, SentencePieceModel

LONGEST = 16


def options() -> harness.Parser:
    """Return the command line of this program."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    held_out = ",".join(corpora.defaults("english-prose", "de", "ja"))
    add("--speed", type=harness.names, default=corpora.defaults("english-prose")[0], help="corpora to be fast on")
    add("--quality", type=harness.names, default=held_out, help="corpora to be good at")
    add("--mb", type=float, default=12.0, help="megabytes of each")
    add("--sizes", type=lambda text: [int(n) for n in harness.names(text)], default="8000,32000", help="sizes")
    add("--kinds", type=harness.names, default="unigram,bpe", help="kinds of models")
    add("--threads", type=lambda text: [int(n) for n in harness.names(text)], default="1,2", help="numbers of threads")
    add("--rounds", type=int, default=3, help="runs of each; figures are medians")
    add("--timeout", type=float, default=900.0, help="seconds until a run is given up")
    return parser


class Bench:
    """One run of this program: where models go, and whether all was right."""

    def __init__(self, args: Any, folder: Path) -> None:
        self.args, self.folder, self.fine = args, folder, True

    def train(self, trainer: str, path: Path, kind: str, size: int, threads: int) -> tuple[dict[str, Any], bytes]:
        """Train in a process of its own; return its figures and the model's file, empty where it failed."""
        out = self.folder / "made.model"
        out.unlink(missing_ok=True)
        job = {"trainer": trainer, "path": str(path), "kind": kind, "size": size, "threads": threads, "out": str(out)}
        found = harness.child("benchmarks.sentencepiece_job", job, threads=threads, timeout=self.args.timeout)
        if "error" in found:
            print(f"# {trainer} {kind} {size} with {threads} threads: {found['error']}")
            self.fine = self.fine and trainer != "tokkit"
            return found, b""
        return {**found, "wall": found["ended"] - found["started"]}, out.read_bytes()

    def written(self, name: str, data: bytes) -> Path:
        """Return the path of a new file."""
        path = self.folder / name
        path.write_bytes(data)
        return path

    def speed(self, corpus: corpora.Corpus, kind: str, size: int) -> list[dict[str, object]]:
        """Run everyone in turn, round after round; return a row for each trainer and number of threads."""
        path = self.written(f"{corpus.name}.txt", corpus.data)
        runs: dict[tuple[str, int], list[dict[str, Any]]] = {}
        models: dict[str, set[bytes]] = {name: set() for name in TRAINERS}
        for _ in range(self.args.rounds):
            for threads in self.args.threads:
                for name in TRAINERS:
                    found, data = self.train(name, path, kind, size, threads)
                    if data:
                        runs.setdefault((name, threads), []).append(found)
                        models[name].add(data)
        self.fine = self.fine and len(models["tokkit"]) == 1
        if kind == "bpe" and models["sentencepiece"] and models["tokkit"]:
            self.fine = self.fine and len({tuple(pieces(data)) for made in models.values() for data in made}) == 1
        table = []
        for (name, threads), found in runs.items():
            walls, peaks = [run["wall"] for run in found], [run["peak"] for run in found]
            ours = [run["wall"] for run in runs.get(("tokkit", threads), [])]
            table.append(
                {
                    "": f"{kind} {size:,}",
                    "trainer": name,
                    "threads": threads,
                    "wall s": f"{median(walls):.2f}",
                    "± wall": harness.spread(walls),
                    "train s": f"{median(run['train'] for run in found):.2f}",
                    "cpu s": f"{median(run['cpu'] for run in found):.2f}",
                    "peak MiB": f"{median(peaks):.0f}",
                    "tokkit × wall": f"{harness.ratio(ours, walls):.2f}" if len(ours) == len(walls) else "-",
                }
            )
        return table

    def quality(self, corpus: corpora.Corpus, size: int) -> list[dict[str, object]]:
        """Train Unigram models on the first nine tenths, measure them on the rest; return a row for each."""
        cut = corpus.data.rfind(b"\n", 0, len(corpus.data) * 9 // 10) + 1
        path = self.written("learnt.txt", corpus.data[:cut])
        rest = corpus.data[cut:]
        rows, figures = [], []
        for name in TRAINERS:
            _, data = self.train(name, path, "unigram", size, 1)
            if not data:
                continue
            model = sentencepiece.read_model(data)
            size = model.pieces.n_ids if name == "sentencepiece" else size
            tokens, log_likelihood = measured(model, rest)
            figures.append((tokens, -log_likelihood))
            rows.append(
                {
                    "": corpus.name,
                    "trainer": name,
                    "pieces": f"{model.pieces.n_ids:,}",
                    "tokens": f"{tokens:,}",
                    "tokens/byte": f"{tokens / len(rest):.5f}",
                    "log-likelihood": f"{log_likelihood:,.0f}",
                    "nats/byte": f"{-log_likelihood / len(rest):.5f}",
                }
            )
        if len(figures) == len(TRAINERS):
            self.fine = self.fine and figures[1][0] <= figures[0][0] and figures[1][1] <= figures[0][1]
        return rows


def pieces(data: bytes) -> list[bytes]:
    """Return the pieces of a model's file."""
    return list(sentencepiece.read_model(data).pieces)


def measured(model: SentencePieceModel, text: bytes) -> tuple[int, float]:
    """Return the tokens of a text's best segmentation, and its log-likelihood, of all that is not unknown."""
    ids = np.flatnonzero(model.types == NORMAL).tolist()
    scores = {model.pieces[id_].decode(): float(model.scores[id_]) for id_ in ids}
    total = math.fsum(math.exp(score) for score in scores.values())
    chances = {piece: math.exp(score) / total for piece, score in scores.items()}
    texts = WordCounts()
    for line in text.split(b"\n"):
        if line:
            texts.add_word(line)
    normalizer = Normalizer(model.normalizer.charsmap, [], add_prefix=True, remove_extra=True, escape=True)
    rules = PieceRules(LONGEST, alphabet="".join(piece for piece in scores if len(piece) == 1))
    n_tokens, log_likelihood = 0, 0.0
    for unit, count in rules.units(rules.words(texts, normalizer)).items():
        best, all_ways = segmented(unit.decode(), scores, chances)
        n_tokens += count * best
        log_likelihood += count * all_ways
    return n_tokens, log_likelihood


def segmented(unit: str, scores: dict[str, float], chances: dict[str, float]) -> tuple[int, float]:
    """Return the tokens of the best segmentation, and the logarithm of the sum of all."""
    n = len(unit)
    ways, best, tokens = [1.0] + [0.0] * n, [0.0] + [-math.inf] * n, [0] * (n + 1)
    log_scale = 0.0
    for start in range(n):
        if ways[start] < 1e-200:  # long units would underflow
            log_scale += math.log(1e-200)
            ways[start:] = [way * 1e200 for way in ways[start:]]
        for end in range(start + 1, min(n, start + LONGEST) + 1):
            if (score := scores.get(unit[start:end])) is None:
                continue
            ways[end] += ways[start] * chances[unit[start:end]]
            if best[start] + score > best[end]:
                best[end], tokens[end] = best[start] + score, tokens[start] + 1
    return tokens[n], math.log(ways[n]) + log_scale


def main() -> int:
    """Measure as the command line says; return the exit status."""
    parser = options()
    args = parser.parse_args()
    try:
        fast = [corpora.read(name, args.mb) for name in args.speed]
        good = [corpora.read(name, args.mb) for name in args.quality]
    except FileNotFoundError as error:
        parser.error(str(error))
    about = {"corpora": ", ".join(f"{c.name} {c.megabytes:.1f} MB" for c in {c.name: c for c in fast + good}.values())}
    harness.show_conditions(f"{args.threads}, each process on as many CPUs", **about)
    with tempfile.TemporaryDirectory(prefix="tokkit-bench-") as folder:
        bench = Bench(args, Path(folder))
        for corpus in fast:
            for kind, size in ((kind, size) for kind in args.kinds for size in args.sizes):
                harness.show(corpus.name, bench.speed(corpus, kind, size))
        rows = [row for corpus in good for size in args.sizes for row in bench.quality(corpus, size)]
        harness.show("Unigram, held out", rows)
    if not bench.fine:
        print("\ntokkit could not run, or a model is not what it should be: see above", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
