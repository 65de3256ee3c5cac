"""Files are read completely or refused, and a failed write leaves no file."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import tokkit
from tokkit import limits
from tokkit.errors import FormatError
from tokkit.files import files


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_written_whole_and_leaves_nothing_else(tmp_path: Path) -> None:
    files.write_atomically(tmp_path / "a", b"one")
    files.write_atomically(str(tmp_path / "a"), b"two")
    assert (tmp_path / "a").read_bytes() == b"two"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("failing", ["write", "fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def full(*_: object, **__: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, failing, full)
    with pytest.raises(OSError, match="No space") as raised:
        files.write_atomically(path, b"new")
    assert raised.value.filename == str(path)
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_an_interrupt_while_writing_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_atomically(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    files.write_atomically(tmp_path / "a", b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"


@pytest.mark.skipif(os.name == "nt", reason="needs the file modes of Linux or macOS")
def test_the_mode_is_kept_and_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o640)
    files.write_atomically(path, b"new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    code = (
        "import os, sys; from tokkit.files.files import write_atomically; os.umask(0o027); "
        "write_atomically(sys.argv[1], b'x')"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "b")], check=True, env=environment)
    assert stat.S_IMODE((tmp_path / "b").stat().st_mode) == 0o640


def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    files.write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert names(tmp_path / "folder") == ["target"]


def test_an_existing_file_is_not_overwritten_where_that_is_not_wanted(tmp_path: Path) -> None:
    path = tmp_path / "a"
    files.write_atomically(path, b"one", overwrite=False)
    with pytest.raises(FileExistsError, match="exists"):
        files.write_atomically(path, b"two", overwrite=False)
    assert path.read_bytes() == b"one"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("code", [errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EACCES, errno.ENOSYS])
def test_a_new_file_is_written_where_the_file_system_has_no_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    path = tmp_path / "a"

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refuse)
    files.write_atomically(path, b"one", overwrite=False)
    assert path.read_bytes() == b"one"
    with pytest.raises(FileExistsError, match="a exists"):
        files.write_atomically(path, b"two", overwrite=False)
    assert path.read_bytes() == b"one"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_another_makes_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    path = tmp_path / "a"
    link = os.link

    def late(source: str, target: str) -> None:
        path.write_bytes(b"theirs")
        if not links:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        link(source, target)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(FileExistsError, match="a exists"):
        files.write_atomically(path, b"ours", overwrite=False)
    assert path.read_bytes() == b"theirs"
    assert names(tmp_path) == ["a"]


def test_a_link_that_fails_for_another_reason_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "link", fail)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        files.write_atomically(tmp_path / "a", b"one", overwrite=False)
    assert names(tmp_path) == []


def test_a_directory_or_a_folder_that_is_not_there_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        files.write_atomically(tmp_path, b"x")
    with pytest.raises(FileNotFoundError):
        files.write_atomically(tmp_path / "no" / "a", b"x")


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0,
    reason="needs a user who may not write everywhere: run it as a user other than root",
)
def test_a_read_only_file_or_directory_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        files.write_atomically(path, b"new")
    tmp_path.chmod(0o555)
    with pytest.raises(PermissionError):
        files.write_atomically(tmp_path / "b", b"new")
    tmp_path.chmod(0o755)
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full, which Linux has")
def test_devices_are_written_to_and_say_when_they_are_full() -> None:
    for overwrite in (True, False):
        files.write_atomically("/dev/null", b"x", overwrite=overwrite)
    with pytest.raises(OSError, match="No space"):
        files.write_atomically("/dev/full", b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes, which Linux and macOS have")
def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    for overwrite in (True, False):
        files.write_atomically(pipe, b"through", overwrite=overwrite)
        assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert names(tmp_path) == ["pipe"]
    with pytest.raises(FormatError, match="a pipe"):
        files.read_bytes(pipe)


def test_reading_refuses_what_is_no_regular_file_or_empty_or_too_large(
    tmp_path: Path,
) -> None:
    with pytest.raises(FormatError, match="a directory"):
        files.read_bytes(tmp_path)
    (tmp_path / "empty").touch()
    with pytest.raises(FormatError, match="empty"):
        files.read_bytes(tmp_path / "empty")
    with pytest.raises(FileNotFoundError):
        files.read_bytes(tmp_path / "none")
    (tmp_path / "large").write_bytes(b"1234")
    with limits.using(file_bytes=3), pytest.raises(FormatError, match=r"more than 3 bytes.*file_bytes is 3"):
        files.read_bytes(tmp_path / "large")


@pytest.mark.skipif(
    not os.access("/dev/shm", os.W_OK), reason="needs /dev/shm, which Linux has, and the right to write there"
)
def test_a_file_in_memory_is_a_file_though_it_lies_among_devices() -> None:
    path = Path(f"/dev/shm/tokkit-{os.urandom(8).hex()}")
    try:
        files.write_atomically(path, b"one", overwrite=False)
        with pytest.raises(FileExistsError):
            files.write_atomically(path, b"two", overwrite=False)
        before = path.stat().st_ino
        files.write_atomically(path, b"two")
        assert path.stat().st_ino != before  # replaced, not written into
    finally:
        path.unlink(missing_ok=True)


def test_a_byte_order_mark_is_no_text() -> None:
    assert files.decode(b"\xef\xbb\xbfa\xef\xbb\xbf") == "a\ufeff"


def test_text_that_is_not_utf_8_is_placed() -> None:
    with pytest.raises(FormatError, match=r"line 2: not UTF-8 .byte 0xff at 3"):
        files.decode(b"ab\n\xff")


@pytest.mark.parametrize("name", ["a/b\0", "a\ud83d", "\ud800\udfff.json"])
def test_what_can_be_no_path_is_an_error_of_ours(name: str) -> None:
    tok = tokkit.train(iter(["low lower"]), vocab_size=258)
    for call in (lambda: tokkit.load(name), lambda: tok.save(name, format="tiktoken"), lambda: files.read_bytes(name)):
        with pytest.raises(FormatError, match="is not a path"):
            call()
