"""One tokenizer in many threads, processes and copies: the same ids everywhere, and nobody waits for ever."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import SPECIALS
from strategies import adversarial, documents

if TYPE_CHECKING:
    from collections.abc import Callable

    import tokkit

TEXTS = documents(501, 200)


def test_threads_that_share_a_tokenizer_get_the_right_ids(make_tokenizer: Callable[..., tokkit.Tokenizer]) -> None:
    shared = make_tokenizer("rank", "o200k")
    alone = make_tokenizer("rank", "o200k")
    wanted = [alone.encode(text) for text in TEXTS]
    errors: list[object] = []
    start = threading.Barrier(8)

    def work(offset: int) -> None:
        start.wait()
        for round_ in range(5):
            for i in range(len(TEXTS)):
                k = (i * 7 + offset * 31 + round_) % len(TEXTS)
                if shared.encode(TEXTS[k]) != wanted[k] or shared.decode(wanted[k]) != TEXTS[k]:
                    errors.append(k)
            ids, offsets = shared.encode_batch(TEXTS, threads=1 + offset % 3)
            if ids[offsets[5] : offsets[9]].tolist() != [id_ for ids_ in wanted[5:9] for id_ in ids_]:
                errors.append("batch")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert not errors


def test_two_encodings_run_at_once_with_the_lock_released(tok: tokkit.Tokenizer) -> None:
    # While a thread encodes 20 MB in one call, this one must go on counting.
    text = adversarial(503, 200_000) * 40
    done = threading.Event()

    def work() -> None:
        tok.encode_to_numpy(text)
        done.set()

    thread = threading.Thread(target=work)
    longest, ticks, last = 0.0, 0, time.perf_counter()
    thread.start()
    while not done.is_set():
        now = time.perf_counter()
        longest, last, ticks = max(longest, now - last), now, ticks + 1
    thread.join()
    assert ticks > 1000, f"{ticks} ticks, the longest pause {longest:.3f} s"


def test_a_tokenizer_goes_through_pickle_by_value(tok: tokkit.Tokenizer) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(tok, protocol))
        assert type(again) is type(tok)
        assert again.fingerprint() == tok.fingerprint()
        assert again.special_tokens == SPECIALS
        assert again.name == tok.name
        assert [again.encode(text, special="all") for text in TEXTS] == [tok.encode(t, special="all") for t in TEXTS]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_tokenizer_works_like_it(
    tok: tokkit.Tokenizer, copied: Callable[[tokkit.Tokenizer], tokkit.Tokenizer]
) -> None:
    again = copied(tok)
    assert again.fingerprint() == tok.fingerprint()
    assert [again.encode(text) for text in TEXTS] == [tok.encode(text) for text in TEXTS]


def test_what_encode_returns_goes_through_pickle(tok: tokkit.Tokenizer) -> None:
    encoding = tok("héllo 🦜")
    again = pickle.loads(pickle.dumps(encoding))
    assert again.ids == encoding.ids
    assert again.offsets == encoding.offsets
    assert pickle.loads(pickle.dumps(tok.vocab)) == tok.vocab
    assert pickle.loads(pickle.dumps(tok.definition)).special_tokens == SPECIALS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_encodes_while_threads_live(tok: tokkit.Tokenizer) -> None:
    wanted = tok.encode_batch(TEXTS, threads=2)[0].tolist()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            tok.encode_batch(TEXTS, threads=2)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(5):
            child = os.fork()
            if child == 0:  # no pytest in here: leave by _exit alone
                status = 1
                try:
                    right = tok.encode_batch(TEXTS, threads=2)[0].tolist() == wanted
                    right &= all(tok.decode(tok.encode(text)) == text for text in TEXTS)
                    status = 0 if right else 2
                finally:
                    os._exit(status)
            assert wait(child) == 0
    finally:
        stop.set()
        thread.join()


def wait(child: int, seconds: float = 60) -> int:
    """The exit status of a child; a child that hangs is killed, and fails the test."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return -9


def test_another_process_gets_the_tokenizer_by_pickle(tok: tokkit.Tokenizer) -> None:
    # As a worker started by "spawn" does: it knows nothing but what the pickle holds.
    code = "import pickle, sys; tok, text = pickle.load(sys.stdin.buffer); print(*tok.encode(text))"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps((tok, TEXTS[-1])),
        stdout=subprocess.PIPE,
        check=True,
        timeout=120,
    )
    assert [int(id_) for id_ in answer.stdout.split()] == tok.encode(TEXTS[-1])


def test_a_thread_pool_that_maps_encode_gives_results_in_order(tok: tokkit.Tokenizer) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tok.encode, TEXTS)) == [tok.encode(text) for text in TEXTS]


def test_tokenizers_made_and_dropped_in_threads_do_not_hurt_one_another(
    make_tokenizer: Callable[..., tokkit.Tokenizer],
) -> None:
    wanted = make_tokenizer("merges", "gpt2").encode(TEXTS[-1])

    def work(_: int) -> bool:
        return make_tokenizer("merges", "gpt2").encode(TEXTS[-1]) == wanted

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(40)))


KINDS = ("bbpe", "bpe", "wordpiece", "word", "char")


def trained(kind: str) -> tokkit.Tokenizer:
    import tokkit

    size = 300 if kind == "bbpe" else 60
    return tokkit.train(iter(["low lower lowest newer wider naïve 東京\n"] * 5), model=kind, vocab_size=size)


def ids_in_child(tok: tokkit.Tokenizer, text: str) -> list[int]:
    """At the top of its module, where `spawn` finds it."""
    return tok.encode(text)


@pytest.mark.parametrize("kind", KINDS)
def test_every_model_goes_through_pickle_and_copies(kind: str) -> None:
    tok = trained(kind)
    for again in (pickle.loads(pickle.dumps(tok)), copy.copy(tok), copy.deepcopy(tok)):
        assert again.fingerprint() == tok.fingerprint()
        assert again.encode("lowest new") == tok.encode("lowest new")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_every_kind_get_every_model(method: str) -> None:
    import multiprocessing

    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    script = (
        "import multiprocessing, sys\n"
        f"sys.path.insert(0, {os.path.dirname(__file__)!r})\n"
        "import test_threads as t\n"
        "if __name__ == '__main__':\n"
        f"    toks = [t.trained(kind) for kind in t.KINDS]\n"
        f"    with multiprocessing.get_context({method!r}).Pool(2) as pool:\n"
        "        found = pool.starmap(t.ids_in_child, [(tok, 'lowest new') for tok in toks])\n"
        "    assert found == [tok.encode('lowest new') for tok in toks], found\n"
        "    print('equal')\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "main.py"
        path.write_text(script, encoding="utf-8")
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120)
    assert done.stdout == "equal\n", done.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_every_model_serves_threads_at_once(kind: str) -> None:
    tok = trained(kind)
    wanted = [tok.encode(text) for text in TEXTS]
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: [tok.encode(text) for text in TEXTS], range(8)):
            assert found == wanted
