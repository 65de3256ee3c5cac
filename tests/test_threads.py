"""Work in several threads leaves no thread running after an error or an interrupt."""

from __future__ import annotations

import threading

import pytest

from tokkit.threads import run_threads

pytestmark = pytest.mark.threads


def test_all_threads_work_and_none_is_left() -> None:
    met = threading.Barrier(3)
    seen: list[int] = []

    def work() -> None:
        met.wait(timeout=600)
        seen.append(threading.get_ident())

    run_threads(work, 3, met.abort)
    assert len(set(seen)) == 3
    assert threading.get_ident() in seen


def test_the_error_of_a_thread_is_raised_once_all_have_ended() -> None:
    here, stopped, ended = threading.get_ident(), threading.Event(), threading.Event()

    def work() -> None:
        if threading.get_ident() != here:
            raise ValueError("in a thread")
        stopped.wait(timeout=600)
        ended.set()

    with pytest.raises(ValueError, match="in a thread"):
        run_threads(work, 2, stopped.set)
    assert ended.is_set()


def test_an_error_here_waits_for_the_others() -> None:
    here, begun, stopped, ended = threading.get_ident(), threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        if threading.get_ident() == here:
            begun.wait(timeout=600)
            raise KeyboardInterrupt
        begun.set()
        stopped.wait(timeout=600)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        run_threads(work, 2, stopped.set)
    assert ended.is_set()


def test_a_second_interrupt_does_not_leave_the_others_waiting() -> None:
    here, begun, stopped = threading.get_ident(), threading.Event(), threading.Event()
    calls: list[str] = []

    def work() -> None:
        begun.wait(timeout=600) if threading.get_ident() == here else begun.set()
        if threading.get_ident() == here:
            raise KeyboardInterrupt
        assert stopped.wait(timeout=600)

    def stop() -> None:
        calls.append("stop")
        if len(calls) == 1:
            raise KeyboardInterrupt
        stopped.set()

    with pytest.raises(KeyboardInterrupt):
        run_threads(work, 2, stop)
    assert len(calls) == 2


def test_who_comes_when_the_work_is_done_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting: list[threading.Thread] = []
    monkeypatch.setattr(
        "tokkit.threads._thread.start_new_thread",
        lambda run, args: waiting.append(threading.Thread(target=run, args=args)),
    )
    calls: list[int] = []
    run_threads(lambda: calls.append(1), 2, list)
    waiting[0].start()
    waiting[0].join()
    assert calls == [1]


def test_threads_that_cannot_be_started_are_an_error_and_the_others_end(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = threading.Event()

    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("tokkit.threads._thread.start_new_thread", refuse)
    with pytest.raises(RuntimeError, match="can't start"):
        run_threads(lambda: None, 2, stopped.set)
