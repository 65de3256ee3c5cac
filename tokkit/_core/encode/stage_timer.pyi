"""Types of `stage_timer.pyx`."""

from collections.abc import Iterable

from tokkit._core.encode.bpe import BPEEncoder
from tokkit._core.split import SplitPattern
from tokkit._core.text import Text

STAGES: tuple[str, ...]

def clock_hertz() -> float: ...
def scan_seconds(split: int | SplitPattern, texts: Iterable[Text], *, isa: str | None = None) -> tuple[float, int]: ...

class StageTimer:
    def __init__(self, encoder: BPEEncoder, texts: Iterable[Text]) -> None: ...
    def run(self, stage: str, *, isa: str | None = None, fresh: bool = False) -> tuple[float, int, int]: ...
