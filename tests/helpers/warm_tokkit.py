"""A `tokkit` command that starts at once: a process with everything imported forks for each call.

To import NumPy and the commands takes a process several times as long as what most commands of the documentation do.
"""

from __future__ import annotations

import contextlib
import importlib
import marshal
import os
import pkgutil
import runpy
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

CALLER = """\
import marshal, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({path!r})
    socket.send_fds(server, [b"."], [0, 1, 2])
    server.sendall(marshal.dumps((os.getcwd(), sys.argv, dict(os.environ))))
    server.shutdown(socket.SHUT_WR)
    sys.exit((server.recv(1) or b"\\xff")[0])
"""
"""What `tokkit` does: it hands on its streams, folder, arguments and environment, and waits for the exit code."""


@contextlib.contextmanager
def served(script: Path) -> Iterator[None]:
    """Let the file `script` be a `tokkit` that starts at once, for as long as the context lasts."""
    path = script.with_suffix(".socket")
    server = subprocess.Popen([sys.executable, __file__, str(path)], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        caller = script.with_suffix(".caller")
        caller.write_text(CALLER.format(path=str(path)), encoding="utf-8")
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{caller}" "$@"\n')
        script.chmod(0o755)
        yield
    finally:
        server.terminate()
        server.communicate()


def answer(connection: socket.socket) -> None:
    """Run one call and send its exit code."""
    _, streams, *_ = socket.recv_fds(connection, 1, 3)
    folder, arguments, environment = marshal.loads(connection.makefile("rb").read())
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = arguments
    code: object = 0
    try:
        runpy.run_module("tokkit", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    connection.send(bytes([code if isinstance(code, int) else code is not None]))


def serve(path: str) -> None:
    """Import all of tokkit; then fork for each call."""
    import tokkit

    for found in pkgutil.walk_packages(tokkit.__path__, "tokkit."):
        if not found.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # a package that is not installed
                importlib.import_module(found.name)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        os.write(1, b"ready\n")
        while True:
            connection, _ = listener.accept()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass  # one that has answered
            if os.fork():
                connection.close()
                continue
            try:
                answer(connection)
            finally:
                os._exit(1)


if __name__ == "__main__":
    serve(sys.argv[1])
