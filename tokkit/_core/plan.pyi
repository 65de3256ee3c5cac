"""Types of `plan.pyx`."""

import numpy as np
from numpy.typing import NDArray

from tokkit._core.added import AddedMatcher
from tokkit._core.id_blocks import BlockPool
from tokkit._core.special import SpecialMatcher
from tokkit._core.text import Text

Pass = tuple[AddedMatcher, bytes | None]

def use_isa(name: str | None) -> None: ...

class Finder:
    guard: SpecialMatcher | None
    splittable: bool
    def __init__(
        self, given: Pass | None = None, normalized: Pass | None = None, guard: SpecialMatcher | None = None
    ) -> None: ...

class Encoder:
    n_ids: int
    splittable: bool
    def prepare(self) -> None: ...
    def encode(self, text: Text, finder: Finder | None = None) -> list[int]: ...
    def encode_array(self, text: Text, finder: Finder | None = None) -> NDArray[np.uint32]: ...
    def encode_part(self, text: bytes, finder: Finder | None, continues: bool, goes_on: bool) -> list[int]: ...
    def aligned(
        self, text: bytes, finder: Finder | None = None, before: bytes = b"", after: bytes = b""
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int32]] | None: ...
    def count(self, text: Text, finder: Finder | None = None) -> int: ...
    @property
    def pool(self) -> BlockPool: ...
    def cache_info(self) -> dict[str, int]: ...
