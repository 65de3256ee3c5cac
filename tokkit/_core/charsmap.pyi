"""Types of `charsmap.pyx`."""

from tokkit._core.aligned import AlignedText

class Charsmap:
    data: bytes
    def __init__(self, data: bytes) -> None: ...
    def normalize(self, text: AlignedText) -> None: ...

def clusters(text: str) -> list[str]: ...
