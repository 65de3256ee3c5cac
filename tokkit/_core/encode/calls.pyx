"""What a tokenizer does with one text: a short one in one call of the core, without a frame of Python."""

cimport cython
from cpython.unicode cimport PyUnicode_GET_LENGTH

from tokkit._core.base cimport TK_OK
from tokkit._core.encode.plan cimport GIL_FREE_BYTES, Encoder, Finder, Worker
from tokkit._core.text cimport TextView, view_text


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
