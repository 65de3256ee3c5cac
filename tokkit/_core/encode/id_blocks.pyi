"""Types of `id_blocks.pyx`."""

KEPT_BYTES: int

class BlockPool:
    @property
    def kept_bytes(self) -> int: ...
