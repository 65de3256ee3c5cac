"""What trainers have in common: claims of their state, its arrays in files, symbols of words."""

cimport cython
from cpython.buffer cimport PyBUF_READ, PyBUF_WRITE
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.errno cimport ENOSPC
from libc.stdint cimport uint64_t, uint8_t
from libc.stdlib cimport calloc, free

from tokkit._core.base cimport TK_BAD_INPUT, TK_NO_DISK, TK_OK, TK_TOO_LARGE


cdef int check(int status) except -1:
    if status == TK_OK:
        return 0
    if status == TK_TOO_LARGE:
        raise OverflowError("the distinct words are more than 2**32, or have more than 2**32 bytes, the maximum")
    if status == TK_NO_DISK:
        raise OSError(ENOSPC, "the folder for temporary files has too little space for the words and positions")
    raise MemoryError()


cdef class Training:
    """Training in slices, so that the caller can report progress and be interrupted between them.

    Only one thread at a time may use it: a call while another runs raises RuntimeError.
    """

    cdef int claim(self) except -1:
        with cython.critical_section(self):
            if self.busy:
                raise RuntimeError("this training is in use by another thread; use it in one thread at a time")
            self.busy = True
        return 0

    cdef void release(self) noexcept:
        with cython.critical_section(self):
            self.busy = False

    cdef int visit(self, size_t budget, int *ended) noexcept nogil:
        ended[0] = True
        return TK_OK

    cdef const uint8_t *packed(self, const uint64_t **ends, size_t *n) noexcept:
        ends[0] = NULL
        n[0] = 0
        return NULL

    def run(self, size_t budget):
        """Visit about `budget` occurrences of pairs; return True once training has ended."""
        cdef int status = TK_OK, done
        self.claim()
        if not self.done:
            with nogil:
                status = self.visit(budget, &self.done)
            if status != TK_OK:
                self.done = True
        done = self.done
        self.release()
        check(status)
        return bool(done)

    @property
    def n_ids(self):
        """The number of tokens so far, including special tokens."""
        cdef const uint64_t *ends
        cdef size_t n
        self.claim()
        self.packed(&ends, &n)
        self.release()
        return n

    def tokens(self):
        """Return the bytes of all tokens joined, and the end of each as packed uint64."""
        cdef const uint64_t *ends
        cdef const uint8_t *joined
        cdef size_t n
        self.claim()
        try:
            joined = self.packed(&ends, &n)
            return (
                PyBytes_FromStringAndSize(<const char *> joined, ends[n - 1]) if n else b"",
                PyBytes_FromStringAndSize(<const char *> ends, n * sizeof(uint64_t)) if n else b"",
            )
        finally:
            self.release()


# Writes and reads the arrays of a training's state, in the order and the types of this machine.


cdef int write_arrays(object file, const tk_state_array *arrays, size_t n) except -1:
    cdef size_t i
    for i in range(n):
        if arrays[i].n:
            file.write(PyMemoryView_FromMemory(<char *> arrays[i].data, arrays[i].n, PyBUF_READ))
    return 0


cdef int read_arrays(object read, const tk_state_array *arrays, size_t n, size_t *total, size_t size) except -1:
    # `total` is what was read so far of a file of `size` bytes.
    cdef size_t i
    for i in range(n):
        total[0] += arrays[i].n
        if total[0] > size:
            raise ValueError(f"its arrays have {total[0]} bytes or more, and the file {size}")
        if arrays[i].n:
            read(PyMemoryView_FromMemory(<char *> arrays[i].data, arrays[i].n, PyBUF_WRITE))
    return 0


cdef bytearray read_sizes(object read, size_t n, size_t size):
    # Numbers of items, each of which takes at least a byte.
    cdef size_t i
    sizes = bytearray(n * sizeof(uint64_t))
    read(sizes)
    for i in range(n):
        if (<uint64_t *> <char *> sizes)[i] > size:
            raise ValueError(
                f"array {i} has {(<uint64_t *> <char *> sizes)[i]} items, more than the {size} bytes of it"
            )
    return sizes


cdef int checked(int status) except -1:
    if status == TK_BAD_INPUT:
        raise ValueError("its arrays have inconsistent sizes, or numbers out of range")
    return check(status)


# The table of characters and ids that trainers use to write words as symbols.


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
