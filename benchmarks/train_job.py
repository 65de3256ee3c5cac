"""Trains one tokenizer and reports seconds, peak memory and digests of the vocabulary; the job is JSON.

A process of its own, which imports no more than its trainer needs: memory and time are of the whole process up
to the end of training; what comes after (reading the vocabulary out, to compare it) does not count.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

Tokens = list[bytes]
Merges = list[tuple[bytes, bytes]]


def tokkit(path: str, size: int, threads: int) -> Callable[[], tuple[Tokens, Merges]]:
    """tokkit, with its defaults, on lines as the others read them."""
    import tokkit

    made = tokkit.train([path], model="bbpe", vocab_size=size, unit="line", threads=threads)

    def learnt() -> tuple[Tokens, Merges]:
        tokens, merges = list(made.vocab), made.definition.model.merges
        return tokens, [(tokens[a], tokens[b]) for a, b, _ in ([] if merges is None else merges.tolist())]

    return learnt


def as_bytes(token: str) -> bytes:
    """Return the bytes of a token in the alphabet of byte-level tokens."""
    return bytes(_LETTERS[character] for character in token)


# Printable bytes stand for themselves, the other 68 for U+0100 and on, in order.
_PRINTABLE = [*range(33, 127), *range(161, 173), *range(174, 256)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
_LETTERS = {chr(b): b for b in _PRINTABLE} | {chr(256 + i): b for i, b in enumerate(_OTHERS)}


def tokenizers(path: str, size: int, threads: int) -> Callable[[], tuple[Tokens, Merges]]:
    """The byte-level BPE of tokenizers, set up as tokkit's defaults are; RAYON_NUM_THREADS gives the threads."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = byte_level.alphabet()
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = byte_level
    made.train([path], trainers.BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=alphabet))

    def learnt() -> tuple[Tokens, Merges]:
        ids = made.get_vocab()
        pairs = json.loads(made.to_str())["model"]["merges"]
        return [as_bytes(t) for t in sorted(ids, key=ids.__getitem__)], [(as_bytes(a), as_bytes(b)) for a, b in pairs]

    return learnt


def gigatoken(path: str, size: int, threads: int) -> Callable[[], tuple[Tokens, Merges]]:
    """gigatoken: it takes a file as one document, so pieces at line ends differ, and counts bytes 0 to 255 first."""
    import gigatoken

    ids, merges = gigatoken.train_bpe(gigatoken.TextFileSource([path]), size, [])
    return lambda: ([ids[i] for i in range(len(ids))], [(bytes(a), bytes(b)) for a, b in merges])


def gigabpe(path: str, size: int, threads: int) -> Callable[[], tuple[Tokens, Merges]]:
    """gigabpe: it has no tokens of bytes that the text lacks, and more merges for it."""
    import gigabpe

    vocab, merges = gigabpe.train_bpe([path], size, special_tokens=[], pretokenizer="bytelevel", threads=threads)
    return lambda: (
        [as_bytes(token) for token in sorted(vocab, key=vocab.__getitem__)],
        [(as_bytes(a), as_bytes(b)) for a, b in merges],
    )


def wordpiece(score: str) -> Callable[[str, int, int], Callable[[], tuple[Tokens, Merges]]]:
    """WordPiece of ours by one of its scores, with our defaults."""

    def start(path: str, size: int, threads: int) -> Callable[[], tuple[Tokens, Merges]]:
        import tokkit

        made = tokkit.train([path], model="wordpiece", score=score, vocab_size=size, threads=threads)
        return lambda: (list(made.vocab), [])

    return start


def tokenizers_wordpiece(path: str, size: int, threads: int) -> Callable[[], tuple[Tokens, Merges]]:
    """The WordPiece of tokenizers, by frequency, set up as tokkit's defaults are."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    made.train(
        [path], trainers.WordPieceTrainer(vocab_size=size, min_frequency=2, special_tokens=special, show_progress=False)
    )
    return lambda: ([token.encode() for token in made.get_vocab()], [])


TRAINERS = {
    "bbpe": {"tokkit": tokkit, "tokenizers": tokenizers, "gigatoken": gigatoken, "gigabpe": gigabpe},
    "wordpiece": {
        "tokkit": wordpiece("frequency"),
        "tokkit-likelihood": wordpiece("likelihood"),
        "tokenizers": tokenizers_wordpiece,
    },
}
"""Model → trainers of it by name."""


def peak_mib() -> float:
    """Return the greatest resident size of this program in MiB.

    ru_maxrss would count the process that started this one too: Linux carries it over fork and exec.
    """
    status = Path("/proc/self/status")
    for line in status.read_text(encoding="utf-8").splitlines() if status.is_file() else ():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20) if sys.platform == "darwin" else peak / 1024


def cpu_seconds() -> float:
    """Return user and system time of this process, all threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def digest(tokens: Iterable[bytes]) -> str:
    """Return a sha256 of byte strings in order; lengths keep their borders apart."""
    total = hashlib.sha256()
    for token in tokens:
        total.update(len(token).to_bytes(8, "little") + token)
    return total.hexdigest()


def job(model: str, trainer: str, path: str, size: int, threads: int) -> dict[str, object]:
    """Train once; the figures are taken before the vocabulary is read out."""
    start = time.perf_counter()
    learnt = TRAINERS[model][trainer](path, size, threads)
    figures = {"train": time.perf_counter() - start, "cpu": cpu_seconds(), "peak": peak_mib(), "ended": time.time()}
    tokens, merges = learnt()
    sides = [side for pair in merges for side in pair]
    pieces = sorted(token.decode() for token in tokens) if model == "wordpiece" else []  # for counting what differs
    about = {"tokens": len(tokens), "vocab": digest(tokens), "merges": digest(sides), "n_merges": len(merges)}
    return {**figures, **about, "pieces": pieces}


if __name__ == "__main__":
    print(json.dumps(job(**json.loads(sys.argv[1]))))
