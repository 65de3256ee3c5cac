"""Types of `spelling.pyx`."""

class Spelling:
    prefix: bytes
    n_ids: int
    def __init__(self, characters: list[tuple[str, int, int | None]], prefix: bytes) -> None: ...

def check_tokens(tokens: list[tuple[bytes, int]], spelling: Spelling | None, vocab_size: int) -> None: ...
