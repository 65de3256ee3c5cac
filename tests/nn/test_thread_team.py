"""Threads of the kernels are reused from call to call, serve several callers, and end before a fork."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from at_once import at_once
from tokkit._core.grad import backward as grad
from tokkit._core.nn import rows as nn

pytestmark = pytest.mark.threads

A, B = (np.random.default_rng(seed).standard_normal((300, 300)).astype(np.float32) for seed in (1, 2))


def product(threads: int) -> np.ndarray:
    out = np.empty((300, 300), dtype=np.float32)
    grad.matmul(A, B, out, threads=threads)
    return out


def tasks() -> int:
    return len(list(Path("/proc/self/task").iterdir()))


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not list threads")
def test_threads_stay_for_the_next_call_of_any_module() -> None:
    product(4)
    count = tasks()
    for _ in range(5):
        product(4)
        nn.norm(A, np.empty_like(A), np.ones(300, dtype=np.float32), None, threads=4)
    assert tasks() == count


def test_callers_at_once_get_what_one_gets() -> None:
    wanted = product(1)
    for made in at_once([lambda: product(3)] * 4, times=3):
        np.testing.assert_array_equal(made, wanted)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_meets_no_thread_and_its_child_begins_its_own() -> None:
    wanted = product(3)
    for _ in range(3):
        read, write = os.pipe()
        child = os.fork()
        if not child:
            same = np.array_equal(product(3), wanted)
            os.write(write, bytes([same, threading.active_count()]))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert os.read(read, 2) == b"\x01\x01"
        os.close(read)
        os.close(write)
        np.testing.assert_array_equal(product(3), wanted)


@pytest.mark.skipif(sys.platform != "linux" or not hasattr(os, "fork"), reason="the system does not list threads")
def test_threads_that_wait_are_gone_after_a_fork() -> None:
    product(4)
    before = tasks()
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    assert tasks() <= before - 3
