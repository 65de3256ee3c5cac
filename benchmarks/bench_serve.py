"""Compares the server's streams with the decoder alone: eight clients at once, and how long a ninth waits.

A server of `tokkit serve` runs in a process of its own, on one thread. Eight clients stream a text each, all of one
length. `share` is their tokens for each second of the server's processor time, divided by those of a batch of eight in
this process, which steps the same decoder; rounds take turns. The ninth client comes while eight are being written,
once to a server with a place for it and once to one without. The model is the Llama of 125M of bench_generate.py.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np

from benchmarks import harness
from benchmarks.bench_generate import SHAPES, write_model
from tokkit import nn, pipeline

CLIENTS, PROMPT, TOKENS = 8, 16, 48
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Server:
    """A process that serves a model."""

    def __init__(self, folder: Path, precision: str, places: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tokkit", "serve", str(folder), "--port", "0", "--precision", precision,
             "--threads", "1", "--max-sequences", str(places)],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().split()[1]

    def seconds(self) -> float:
        """Return the processor time that it has had."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def stream(self, first: int, tokens: int) -> tuple[float, int]:
        """Stream a text; return the seconds until the first token, and how many came."""
        body = {"prompt": list(range(first, first + PROMPT)), "max_tokens": tokens, "stream": True, "temperature": 0,
                "stream_options": {"include_usage": True}}  # fmt: skip
        began, waited, usage = time.monotonic(), 0.0, {}
        with urllib.request.urlopen(
            urllib.request.Request(f"{self.url}/completions", json.dumps(body).encode())
        ) as answer:
            for line in answer:
                waited = waited or time.monotonic() - began
                if b'"usage"' in line:
                    usage = json.loads(line.removeprefix(b"data: "))["usage"]
        return waited, int(usage["completion_tokens"])

    def eight(self, tokens: int) -> tuple[list[threading.Thread], list[int]]:
        """Start eight clients."""
        counts: list[int] = []
        threads = [
            threading.Thread(target=lambda i=i: counts.append(self.stream(7 * i, tokens)[1])) for i in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        return threads, counts

    def close(self) -> None:
        """End it."""
        self.process.terminate()
        self.process.wait()


def of_batch(model: pipeline.TextGenerator) -> float:
    """Return the tokens for each second of processor time of a batch of eight, its prompts read."""
    decoder = model.decoder
    began = time.process_time()
    caches = [decoder.cache(capacity=PROMPT + TOKENS) for _ in range(CLIENTS)]
    hidden = decoder([np.arange(7 * i, 7 * i + PROMPT) for i in range(CLIENTS)], caches)
    last = decoder.logits(hidden[PROMPT - 1 :: PROMPT]).argmax(-1)
    for _ in range(TOKENS - 1):
        last = decoder.logits(decoder([[id_] for id_ in last.tolist()], caches)).argmax(-1)
    return CLIENTS * TOKENS / (time.process_time() - began)


def of_server(server: Server) -> float:
    """Return the tokens for each second of processor time of eight clients at once."""
    began = server.seconds()
    threads, counts = server.eight(TOKENS)
    for thread in threads:
        thread.join()
    return sum(counts) / (server.seconds() - began)


def ninth(folder: Path, precision: str, places: int, rounds: int) -> float:
    """Return the median of the seconds until the first token of a client who comes when eight are being written."""
    server, waited = Server(folder, precision, places), []
    for _ in range(rounds):
        threads, _ = server.eight(TOKENS)
        time.sleep(0.2)
        waited.append(server.stream(1, 2)[0])
        for thread in threads:
            thread.join()
    server.close()
    return statistics.median(waited)


def main() -> None:
    """Run the benchmark."""
    parser = harness.Parser(__doc__)
    parser.add_argument("--folder", help="where models are kept")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    harness.show_conditions("1", rounds=args.rounds)
    rows = []
    with tempfile.TemporaryDirectory() as aside, nn.threads(1):
        folder = Path(args.folder or aside) / "Llama-125M"
        if not (folder / "config.json").exists():
            write_model(SHAPES["Llama 125M"], folder)
        for precision in ("fp32", "int8"):
            model = pipeline.load(folder, precision=precision)
            assert isinstance(model, pipeline.TextGenerator)
            server = Server(folder, precision, CLIENTS)
            of_server(server), of_batch(model)
            pairs = [(of_server(server), of_batch(model)) for _ in range(args.rounds)]
            server.close()
            rows.append({
                "precision": precision,
                "server, tokens/s": f"{statistics.median(own for own, _ in pairs):.1f}",
                "batch, tokens/s": f"{statistics.median(batch for _, batch in pairs):.1f}",
                "share": f"{statistics.median(own / batch for own, batch in pairs):.2f}",
                "ninth, with a place": f"{ninth(folder, precision, CLIENTS + 1, args.rounds):.2f} s",
                "ninth, without": f"{ninth(folder, precision, CLIENTS, args.rounds):.2f} s",
            })  # fmt: skip
    harness.section("Eight streaming clients")
    print(harness.table(rows))


if __name__ == "__main__":
    main()
