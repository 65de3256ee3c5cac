"""What a tokenizer does with one text: a short one in one call of the core, without a frame of Python."""

cimport cython
from cpython.unicode cimport PyUnicode_GET_LENGTH
from libc.stdint cimport uint8_t

from tokkit._core.base cimport TK_OK
from tokkit._core.encode.plan cimport GIL_FREE_BYTES, Encoder, Finder, Worker, finder_of, tk_encode, tk_worker
from tokkit._core.split cimport AddedMatcher, tk_added_find, tk_added_match
from tokkit._core.text cimport TextView, tk_utf8_of, view_text


@cython.binding(False)  # built-in methods, whose `self` CPython checks and which need no frame
@cython.embedsignature.format("clinic")  # for inspect.signature
cdef class TextCalls:
    """Encodes single texts; the base class of `Tokenizer`.

    The core answers for short str by the policy "text". The engine answers for everything else, and raises all errors.
    """

    cdef object engine
    cdef Encoder encoder  # None if the engine has none
    cdef Finder finder

    def __init__(self, engine, encoder, finder):
        self.engine, self.encoder, self.finder = engine, encoder, finder

    cdef Worker encode_short(self, text):
        # Returns the worker that has the ids, None if the engine must encode the text.
        cdef Encoder encoder = self.encoder
        cdef Worker worker
        cdef TextView view
        if encoder is None or type(text) is not str or PyUnicode_GET_LENGTH(text) >= GIL_FREE_BYTES:
            return None
        view_text(text, &view)
        worker = encoder.take_worker()
        if encoder.run_short(worker, &view, self.finder) == TK_OK:
            return worker
        encoder.give_back(worker)
        return None

    cdef list short_ids(self, text):
        cdef Worker worker = self.encode_short(text)
        cdef list ids
        if worker is None:
            return None
        ids = self.encoder.as_list(worker.state.ids, worker.state.n_ids)
        self.encoder.give_back(worker)
        return ids

    def encode(self, text, *, special="text"):
        """Return the ids of `text` as a list."""
        cdef list ids = self.short_ids(text) if special is "text" else None
        return ids if ids is not None else self.engine.encode(text, special)

    def encode_ordinary(self, text):
        """Return the ids of `text` as a list; special tokens in the text are encoded as ordinary text."""
        cdef list ids = self.short_ids(text)
        return ids if ids is not None else self.engine.encode(text)

    def count(self, text, *, special="text"):
        """Return the number of ids of `text`."""
        cdef Worker worker = self.encode_short(text) if special is "text" else None
        cdef size_t n
        if worker is None:
            return self.engine.count(text, special)
        n = worker.state.n_ids
        self.encoder.give_back(worker)
        return n


@cython.binding(False)
@cython.embedsignature.format("clinic")
@cython.auto_pickle(False)
cdef class EncodingCalls:
    """Encodes single texts; the base class of tiktoken's `Encoding`.

    The core answers for short str with the usual policies. `encode_text(text, allowed, disallowed)` answers for
    everything else, and raises all errors.
    """

    cdef Encoder encoder        # None if the engine has none
    cdef AddedMatcher special   # None: texts of special tokens must be looked for otherwise
    cdef Finder finder
    cdef frozenset special_ids

    def set_calls(self, Encoder encoder, AddedMatcher special, Finder finder, frozenset special_ids not None):
        """Encode with this encoder; `special` finds all special tokens, and `finder` makes them ids."""
        self.encoder, self.special, self.finder, self.special_ids = encoder, special, finder, special_ids

    cdef list short_ids(self, text, AddedMatcher disallowed, Finder finder):
        # None if `encode_text` must encode the text.
        cdef Encoder encoder = self.encoder
        cdef Worker worker
        cdef TextView view
        cdef tk_worker *w
        cdef const uint8_t *p = NULL
        cdef size_t n = 0, at = 0
        cdef tk_added_match match
        cdef int status
        cdef list ids = None
        if encoder is None or type(text) is not str or PyUnicode_GET_LENGTH(text) >= GIL_FREE_BYTES:
            return None
        view_text(text, &view)
        worker = encoder.take_worker()
        w = &worker.state
        w.n_ids = 0
        w.is_continuation = w.has_next = 0
        status = tk_utf8_of(&view, &w.text, &w.text_capacity, &p, &n)
        if status != TK_OK or disallowed is None or not tk_added_find(&disallowed.tokens, p, n, 0, &match):
            while status == TK_OK and at < n:
                status = tk_encode(&encoder.plan, w, finder_of(finder), p, n, &at, n)
            if status == TK_OK:
                ids = encoder.as_list(w.ids, w.n_ids)
        encoder.give_back(worker)
        return ids

    def encode_ordinary(self, text):
        """Return the ids of a text; special tokens in it are ordinary text."""
        cdef list ids = self.short_ids(text, None, None)
        return ids if ids is not None else self.encode_text(text, frozenset(), ())

    def encode(self, text, *, allowed_special=(), disallowed_special="all"):
        """Return the ids of a text; ValueError if it holds a special token that is not allowed."""
        cdef list ids = None
        if self.special is None:
            pass
        elif is_all(allowed_special):
            if is_all(disallowed_special) or is_none(disallowed_special):
                ids = self.short_ids(text, None, self.finder)
        elif is_none(allowed_special):
            if is_all(disallowed_special):
                ids = self.short_ids(text, self.special, None)
            elif is_none(disallowed_special):
                ids = self.short_ids(text, None, None)
        return ids if ids is not None else self.encode_text(text, allowed_special, disallowed_special)

    def is_special_token(self, token):
        """Return whether an id is a special token's."""
        if not isinstance(token, int):
            raise AssertionError(f"an id is {type(token).__name__}; it must be an int")
        return token in self.special_ids


cdef inline bint is_all(given) except -1:
    return type(given) is str and given == "all"


cdef inline bint is_none(given) except -1:
    return (type(given) is frozenset or type(given) is set or type(given) is tuple or type(given) is list) and not given
