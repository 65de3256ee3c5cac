"""A .safetensors file: refused by an error of tokkit, or tensors that are the bytes of the file, and are written so."""

from __future__ import annotations

import tempfile
from pathlib import Path

from mutate_binary import HEADER as CHANGE
from tokkit.errors import TokkitError
from tokkit.files.safetensors import FLOATS, read_safetensors, write_safetensors

__all__ = ["CHANGE", "check"]


def check(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        path, again = Path(name) / "given.safetensors", Path(name) / "again.safetensors"
        path.write_bytes(data)
        try:
            tensors = read_safetensors(path)
        except TokkitError:
            return
        body = data[8 + int.from_bytes(data[:8], "little") :]
        assert b"".join(tensor.data.tobytes() for tensor in tensors.values()) == body
        for tensor in tensors.values():
            assert tensor.data.shape == tensor.shape
            if tensor.dtype in (*FLOATS, "BF16"):
                assert tensor.float32().shape == tensor.shape
        write_safetensors(again, tensors, tensors.metadata)
        back = read_safetensors(again)
        assert back.keys() == tensors.keys()
        assert back.metadata == tensors.metadata
        for key, tensor in tensors.items():
            assert back[key][:2] == tensor[:2]
            assert back[key].data.tobytes() == tensor.data.tobytes(), key
