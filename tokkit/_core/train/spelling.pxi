# The table of characters and ids that trainers use to write words as symbols.

from libc.stdlib cimport calloc, free


cdef class Spelling:
    """How words become symbols: (character, id at the start of a word, id elsewhere) for each kept character.

    An id is None where the character never occurs. The tokens of the second ids must begin with `prefix`, and those of
    the first must be the character alone.
    """

    def __cinit__(self, list characters not None, bytes prefix not None):
        cdef size_t c, id_
        self.ids = <tk_token *> calloc(2 * <size_t> TK_CODE_POINTS, sizeof(tk_token))
        if self.ids is NULL:
            raise MemoryError()
        self.table.first, self.table.rest = self.ids, self.ids + TK_CODE_POINTS
        self.prefix = prefix
        for character, first, rest in characters:
            c = ord(character)
            for place, given in ((c, first), (TK_CODE_POINTS + c, rest)):
                if given is not None:
                    id_ = given
                    self.n_ids = max(self.n_ids, id_ + 1)
                    self.ids[<size_t> place] = <tk_token> (id_ + 1)

    def __dealloc__(self):
        free(self.ids)


def check_tokens(list tokens not None, Spelling spelling, size_t vocab_size):
    """Raise ValueError unless tokens and spelling fit each other: training does not check this."""
    for token, _ in tokens:
        if not isinstance(token, bytes) or not token:
            raise ValueError(f"a token is {token!r}; it must be bytes, not empty")
    if vocab_size >= <size_t> 1 << 31 or len(tokens) > vocab_size:
        raise ValueError(
            f"vocab_size is {vocab_size}; it must be from {len(tokens)}, the number of tokens, to 2**31 - 1"
        )
    if spelling is None:
        if sorted(token for token, _ in tokens[max(0, len(tokens) - 256):]) != [bytes([b]) for b in range(256)]:
            raise ValueError("the last 256 tokens are not the 256 single bytes; without a spelling they must be")
        return
    if spelling.n_ids > <size_t> len(tokens):
        raise ValueError(
            f"a character has id {spelling.n_ids - 1}; it must be below the number of tokens, {len(tokens)}"
        )
    cdef size_t c
    for c in range(<size_t> TK_CODE_POINTS):
        if spelling.ids[c] and tokens[spelling.ids[c] - 1] != (chr(c).encode(), 1):
            raise ValueError(f"the token of {chr(c)!r} at the start of a word must be this character, of 1 symbol")
        if spelling.ids[TK_CODE_POINTS + c] and (
            tokens[spelling.ids[TK_CODE_POINTS + c] - 1] != (spelling.prefix + chr(c).encode(), 1)
        ):
            raise ValueError(
                f"the token of {chr(c)!r} inside a word must be the prefix and this character, of 1 symbol"
            )
