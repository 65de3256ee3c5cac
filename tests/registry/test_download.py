"""Downloads from good, wrong, absent and slow servers give a whole file, or an error and no file."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from servers import Handler, sends
from tokkit.errors import DownloadError, OptionError
from tokkit.registry import download
from tokkit.registry.encodings import Source

DATA = bytes(range(256)) * 2000
SOURCE = Source("ranks.tiktoken", len(DATA), hashlib.sha256(DATA).hexdigest())
Serve = Callable[[Handler], str]


def test_a_good_file_is_kept_in_a_folder_that_only_its_owner_sees(serve: Serve, tmp_path: Path) -> None:
    asked: list[str] = []

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.path)
        sends(DATA)(request)

    shown: list[tuple[int, int]] = []
    path = download.fetch(SOURCE, tmp_path / "cache", mirror=serve(answer), progress=lambda *step: shown.append(step))
    assert path.read_bytes() == DATA
    assert asked == ["/ranks.tiktoken"]
    assert shown[-1] == (len(DATA), len(DATA))
    if os.name == "posix":
        assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


def test_a_folder_that_others_may_look_into_is_closed_to_them(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir(mode=0o755)
    download.fetch(SOURCE, tmp_path / "cache", mirror=serve(sends(DATA)))
    assert os.name != "posix" or stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


def answers_404(request: BaseHTTPRequestHandler) -> None:
    request.send_error(404)


def hangs_up(request: BaseHTTPRequestHandler) -> None:
    request.connection.close()


CHANGED = DATA[:-1] + b"?"
BROKEN = {
    "wrong hash": (sends(CHANGED), hashlib.sha256(CHANGED).hexdigest()),
    "wrong hash, the right one told": (sends(CHANGED), SOURCE.sha256),
    "404": (answers_404, "404"),
    "truncated": (sends(DATA[:1000], stated=len(DATA)), "the download ended after 1,000 of 512,000 bytes"),
    "cut short, and stated so": (sends(DATA[:1000]), "the download ended after 1,000 of 512,000 bytes"),
    "empty": (sends(b""), "the download ended"),
    "too long": (sends(DATA + b"more"), "sha256"),
    "hangs up": (hangs_up, "http://127.0.0.1"),
    "silent": (sends(DATA[:100], stated=len(DATA), seconds=3.0, step=50), "no answer within 0.2 s"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_answer_is_an_error_and_leaves_nothing(serve: Serve, tmp_path: Path, kind: str) -> None:
    answer, said = BROKEN[kind]
    with pytest.raises(DownloadError) as caught:
        download.fetch(SOURCE, tmp_path / "cache", mirror=serve(answer), patience=0.2 if kind == "silent" else 30)
    assert said in str(caught.value)
    assert not (tmp_path / "cache").exists() or not list((tmp_path / "cache").iterdir())


def test_a_server_that_drips_is_given_up_in_the_end(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "MIN_RATE", len(DATA) * 10)
    with pytest.raises(DownloadError, match="too slow"):  # after a second, of the half minute that it would take
        download.fetch(SOURCE, tmp_path, mirror=serve(sends(DATA, seconds=0.05, step=1000)), patience=1)


def test_nobody_at_the_address_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match=r"http://127.0.0.1:9/ranks.tiktoken: .*refused"):
        download.fetch(SOURCE, tmp_path, mirror="http://127.0.0.1:9/")


def test_a_failure_leaves_the_file_that_was_there(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / SOURCE.file).write_bytes(b"old")
    with pytest.raises(DownloadError):
        download.fetch(SOURCE, tmp_path, mirror=serve(sends(CHANGED)))
    assert (tmp_path / SOURCE.file).read_bytes() == b"old"


def test_only_addresses_of_the_web_are_mirrors(tmp_path: Path) -> None:
    for mirror in ("file:///etc", "ftp://host", "host", ""):
        with pytest.raises(OptionError, match="https://"):
            download.fetch(SOURCE, tmp_path, mirror=mirror)


@pytest.mark.parametrize("setting", ["1", "yes"])
def test_offline_forbids_it_before_anyone_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setenv("TOKKIT_OFFLINE", setting)
    with pytest.raises(DownloadError, match=f"TOKKIT_OFFLINE={setting} forbids"):
        download.fetch(SOURCE, tmp_path)


def test_two_processes_at_once_both_end_with_the_whole_file(serve: Serve, tmp_path: Path) -> None:
    mirror = serve(sends(DATA, seconds=0.02))
    code = (
        "from pathlib import Path\nfrom tokkit.registry import download\n"
        f"from tokkit.registry.encodings import Source\n"
        f"source = Source({SOURCE.file!r}, {SOURCE.n_bytes}, {SOURCE.sha256!r})\n"
        f"print(download.fetch(source, Path({str(tmp_path / 'cache')!r}), mirror={mirror!r}))"
    )
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        out, _ = process.communicate(timeout=600)
        assert process.returncode == 0
        assert Path(out.strip()).read_bytes() == DATA
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [SOURCE.file]
