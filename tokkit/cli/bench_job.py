"""Runs one measurement in its own process: loads, encodes or trains with one library; prints seconds and memory.

`tokkit bench --train` and `--memory` pass the source of this file to `python -c`, with a job in JSON. It imports only
the library that is measured, so that no other library's memory is counted.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from pathlib import Path
from typing import Any


def peak_bytes() -> int:
    """Return the peak resident memory of this process, in bytes.

    ru_maxrss would also include the peak of the parent process: Linux keeps it across fork and exec.
    """
    status = Path("/proc/self/status")
    for line in status.read_text(encoding="utf-8").splitlines() if status.is_file() else ():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def digest(rows: list[Any]) -> str:
    """Return a sha256 of rows of ids, as uint32."""
    total = hashlib.sha256()
    for row in rows:
        total.update(b"".join(int(id_).to_bytes(4, "little") for id_ in row) + b"\xff\xff\xff\xff")
    return total.hexdigest()


def loaded(job: dict[str, Any]) -> Any:
    """Load the tokenizer's file with a library; return a function that encodes a list of texts."""
    if job["who"] == "tokkit":
        import tokkit

        tok = tokkit.load(job["file"], pattern=job["pattern"])
        return lambda texts: [tok.encode_to_numpy(text, special="all") for text in texts]
    if job["who"] == "tokenizers":
        import tokenizers

        other = tokenizers.Tokenizer.from_file(job["file"])
        return lambda texts: [other.encode(text, add_special_tokens=False).ids for text in texts]
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    ranks = load_tiktoken_bpe(job["file"])
    encoding = tiktoken.Encoding("own", pat_str=job["pattern"], mergeable_ranks=ranks, special_tokens={})
    return lambda texts: [encoding.encode_ordinary(text) for text in texts]


def trained(job: dict[str, Any]) -> Any:
    """Train a vocabulary; return a function that returns its sorted tokens."""
    path, size, kind = job["text"], job["vocab_size"], job["model"]
    if job["who"] == "tokkit":
        import tokkit

        made = tokkit.train([path], model=kind, vocab_size=size, threads=job["threads"], **job["options"])
        return lambda: sorted(bytes(token) for token in made.vocab)
    if job["who"] == "tokenizers":
        return _tokenizers_bbpe(path, size)
    if job["who"] == "gigabpe":
        import gigabpe

        vocab, _ = gigabpe.train_bpe([path], size, special_tokens=[], pretokenizer="bytelevel", threads=job["threads"])
        return lambda: sorted(map(_as_bytes(), vocab))
    import io

    import sentencepiece

    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        input=path, model_writer=file, model_type=kind.removeprefix("sp-"), vocab_size=size,
        num_threads=job["threads"], hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    made = sentencepiece.SentencePieceProcessor(model_proto=file.getvalue())
    return lambda: sorted(made.id_to_piece(id_).encode() for id_ in range(made.get_piece_size()))


def _tokenizers_bbpe(path: str, size: int) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = byte_level
    alphabet = byte_level.alphabet()
    made.train([path], trainers.BpeTrainer(vocab_size=size, show_progress=False, initial_alphabet=alphabet))

    return lambda: sorted(map(_as_bytes(), made.get_vocab()))


def _as_bytes() -> Any:
    """Return a function that returns the bytes of a token in the alphabet of byte-level tokens."""
    # Printable bytes map to themselves, the other 68 to U+0100 and the following code points, in order.
    themselves = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in themselves]
    letters = {chr(b): b for b in themselves} | {chr(256 + i): b for i, b in enumerate(others)}
    return lambda token: bytes(letters[c] for c in token)


def run(job: dict[str, Any]) -> dict[str, Any]:
    """Run a job; time and memory are read before any results are compared."""
    start = time.perf_counter()
    if job["what"] == "nothing":
        return {"seconds": 0.0, "peak": peak_bytes()}
    if job["what"] == "train":
        tokens = trained(job)
        found: dict[str, Any] = {"seconds": time.perf_counter() - start, "peak": peak_bytes()}
        listed = tokens()
        return {**found, "tokens": len(listed), "digest": hashlib.sha256(b"\0".join(listed)).hexdigest()}
    encode = loaded(job)
    found = {"seconds": time.perf_counter() - start, "peak": peak_bytes()}
    if job["what"] == "encode":
        data = Path(job["text"]).read_bytes()
        texts = [data[a:b].decode() for a, b in job["documents"]]
        del data
        start = time.perf_counter()
        rows = encode(texts)
        found = {"seconds": time.perf_counter() - start, "peak": peak_bytes(), "digest": digest(rows)}
    return found


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    sys.path[:0] = [given["root"]] if given["who"] == "tokkit" else []
    json.dump(run(given), sys.stdout)
