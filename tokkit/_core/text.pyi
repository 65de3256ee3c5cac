"""Types of `text.pyx`."""

import numpy as np
from numpy.typing import NDArray

Text = str | bytes | bytearray | memoryview

def to_utf8(text: Text) -> bytes: ...
def scan(text: Text, family: int) -> NDArray[np.int64]: ...
def category(code_point: int) -> int: ...
