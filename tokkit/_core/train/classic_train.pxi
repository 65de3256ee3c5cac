# Classic BPE: merges the most frequent pair of symbols, again and again; ties by first occurrence in the text.
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, qsort, realloc
from libc.string cimport memset

cdef extern from "base.h" nogil:
    int tk_reserve(void *block, size_t *capacity, size_t need, size_t size)

cdef enum:
    VISITS_A_SLICE = 1 << 22  # symbols visited between two checks for Ctrl-C: some 50 ms

cdef struct Pair:
    uint64_t key          # left << 32 | right
    int64_t count
    uint32_t word, place  # no occurrence is before this one: number of the word, and byte offset in it
    uint32_t stamp        # of its one valid entry in the heap
    bint touched, ordered
    uint32_t *words       # words in which it occurs, or did; increasing if `ordered`
    size_t n_words, capacity, cursor

# The more frequent pair first; of equally frequent pairs the one with the earlier first occurrence.
cdef struct Entry:
    int64_t count
    uint32_t word, place, pair, stamp


cdef inline bint before(const Entry *a, const Entry *b) noexcept nogil:
    if a.count != b.count:
        return a.count > b.count
    if a.word != b.word:
        return a.word < b.word
    return a.place < b.place


cdef int by_number(const void *a, const void *b) noexcept nogil:
    cdef uint32_t x = (<const uint32_t *> a)[0], y = (<const uint32_t *> b)[0]
    return (x > y) - (x < y)


cdef class ClassicTrainer:
    """Training merge by merge: `best()` says which pair comes next, `merge(…)` makes it one symbol everywhere.

    Word i is `symbols[ends[i - 1]:ends[i]]` (int32), occurs `counts[i]` times (int64); words are in order of first
    occurrence. `lengths` (uint32): bytes that each symbol covers. MemoryError; OverflowError for 2^32 words or bytes.
    """

    cdef int32_t *symbols
    cdef size_t *starts    # [n_words + 1]
    cdef uint32_t *sizes   # [n_words] symbols that each word has left
    cdef int64_t *counts
    cdef uint32_t *lengths
    cdef size_t n_words, n_symbols, lengths_capacity
    cdef Pair *pairs
    cdef size_t n_pairs, pairs_capacity
    cdef uint32_t *slots   # of the pairs' keys: number + 1
    cdef size_t n_slots
    cdef Entry *heap
    cdef size_t n_heap, heap_capacity
    cdef uint32_t *touched
    cdef size_t n_touched, touched_capacity
    cdef size_t visits

    def __cinit__(
        self, const int32_t[::1] symbols, const int64_t[::1] ends, const int64_t[::1] counts,
        const uint32_t[::1] lengths
    ):
        cdef size_t i, n = symbols.shape[0]
        cdef int status = TK_OK
        self.n_words = ends.shape[0]
        self.n_symbols = lengths.shape[0]
        if self.n_words >= 0xFFFFFFFF or n >= 0xFFFFFFFF:
            raise OverflowError(f"there are {self.n_words} words of {n} symbols; both must be below 2**32 - 1")
        if counts.shape[0] != ends.shape[0] or (self.n_words and ends[self.n_words - 1] != <int64_t> n):
            raise ValueError(f"{counts.shape[0]} counts, {ends.shape[0]} ends: numbers must be equal, the last end {n}")
        self.symbols = <int32_t *> calloc(n + 1, sizeof(int32_t))
        self.starts = <size_t *> calloc(self.n_words + 1, sizeof(size_t))
        self.sizes = <uint32_t *> calloc(self.n_words + 1, sizeof(uint32_t))
        self.counts = <int64_t *> calloc(self.n_words + 1, sizeof(int64_t))
        self.n_slots = 1 << 12
        self.slots = <uint32_t *> calloc(self.n_slots, sizeof(uint32_t))
        if not (self.symbols and self.starts and self.sizes and self.counts and self.slots):
            raise MemoryError
        if tk_reserve(&self.lengths, &self.lengths_capacity, self.n_symbols + 1, sizeof(uint32_t)) != TK_OK:
            raise MemoryError
        for i in range(self.n_symbols):
            self.lengths[i] = lengths[i]
        for i in range(n):
            if not 0 <= symbols[i] < <int64_t> self.n_symbols:
                raise ValueError(f"a symbol is {symbols[i]}; it must be from 0 to {<int64_t> self.n_symbols - 1}")
            self.symbols[i] = symbols[i]
        for i in range(self.n_words):
            if ends[i] < <int64_t> self.starts[i] or ends[i] > <int64_t> n:
                raise ValueError(f"the end of word {i} is {ends[i]}; ends must not decrease, and be at most {n}")
            self.starts[i + 1] = ends[i]
            self.sizes[i] = <uint32_t> (self.starts[i + 1] - self.starts[i])
            self.counts[i] = counts[i]
        with nogil:
            for i in range(self.n_words):
                status = self.count_word(i, -2)
                if status != TK_OK:
                    break
            if status == TK_OK:
                status = self.push_touched()
        if status != TK_OK:
            raise MemoryError

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.n_pairs):
            free(self.pairs[i].words)
        free(self.symbols)
        free(self.starts)
        free(self.sizes)
        free(self.counts)
        free(self.lengths)
        free(self.pairs)
        free(self.slots)
        free(self.heap)
        free(self.touched)

    def words(self):
        """Return the current symbols of all words, the end of each word in them, and counts, in the order of the input.

        A training that continues from these has the same results.
        """
        cdef size_t i, k, n = 0
        for i in range(self.n_words):
            n += self.sizes[i]
        symbols = np.empty(n, np.int32)
        ends, counts = np.empty(self.n_words, np.int64), np.empty(self.n_words, np.int64)
        cdef int32_t[::1] to_symbols = symbols
        cdef int64_t[::1] to_ends = ends, to_counts = counts
        n = 0
        for i in range(self.n_words):
            for k in range(self.sizes[i]):
                to_symbols[n] = self.symbols[self.starts[i] + k]
                n += 1
            to_ends[i], to_counts[i] = n, self.counts[i]
        return symbols, ends, counts

    # ---- pairs

    cdef int grow_slots(self) noexcept nogil:
        cdef size_t i, slot, n = 2 * self.n_slots
        cdef uint32_t *slots = <uint32_t *> calloc(n, sizeof(uint32_t))
        if slots == NULL:
            return 1
        for i in range(self.n_pairs):
            slot = mixed(self.pairs[i].key) & (n - 1)
            while slots[slot]:
                slot = (slot + 1) & (n - 1)
            slots[slot] = <uint32_t> i + 1
        free(self.slots)
        self.slots, self.n_slots = slots, n
        return TK_OK

    cdef Pair *find(self, uint64_t key, bint make) noexcept nogil:
        # Returns NULL if the pair is unknown, or if there is no memory.
        cdef size_t slot
        cdef Pair *pair
        if make and 2 * (self.n_pairs + 1) > self.n_slots and self.grow_slots() != TK_OK:
            return NULL
        slot = mixed(key) & (self.n_slots - 1)
        while self.slots[slot]:
            pair = &self.pairs[self.slots[slot] - 1]
            if pair.key == key:
                return pair
            slot = (slot + 1) & (self.n_slots - 1)
        if not make or tk_reserve(&self.pairs, &self.pairs_capacity, self.n_pairs + 1, sizeof(Pair)) != TK_OK:
            return NULL
        pair = &self.pairs[self.n_pairs]
        memset(pair, 0, sizeof(Pair))
        pair.key = key
        pair.word = 0xFFFFFFFF
        pair.ordered = True
        self.n_pairs += 1
        self.slots[slot] = <uint32_t> self.n_pairs
        return pair

    cdef int count_word(self, size_t number, int64_t only) noexcept nogil:
        # Adds a word's pairs. Pairs without the symbol `only` existed before, and are only counted (-2: all are new).
        cdef int32_t *word = self.symbols + self.starts[number]
        cdef uint32_t i, place = 0
        cdef Pair *pair
        for i in range(1, self.sizes[number]):
            pair = self.find(key_of(word[i - 1], word[i]), True)
            if pair == NULL:
                return 1
            pair.count += self.counts[number]
            if only == -2 or word[i - 1] == only or word[i] == only:
                if self.touch(pair, <uint32_t> number, place) != TK_OK:
                    return 1
            place += self.lengths[word[i - 1]]
        return TK_OK

    cdef int touch(self, Pair *pair, uint32_t word, uint32_t place) noexcept nogil:
        if word < pair.word or (word == pair.word and place < pair.place):
            pair.word, pair.place = word, place
            pair.cursor = 0
        if pair.n_words == 0 or pair.words[pair.n_words - 1] != word:
            if pair.n_words and pair.words[pair.n_words - 1] > word:
                pair.ordered = False
            if pair.n_words == pair.capacity and not grow_words(pair):
                return 1
            pair.words[pair.n_words] = word
            pair.n_words += 1
        if not pair.touched:
            pair.touched = True
            if tk_reserve(&self.touched, &self.touched_capacity, self.n_touched + 1, sizeof(uint32_t)) != TK_OK:
                return 1
            self.touched[self.n_touched] = <uint32_t> (pair - self.pairs)
            self.n_touched += 1
        return TK_OK

    cdef void order(self, Pair *pair) noexcept nogil:
        cdef size_t i, kept = 0
        if pair.ordered:
            return
        qsort(pair.words, pair.n_words, sizeof(uint32_t), &by_number)
        for i in range(pair.n_words):
            if kept == 0 or pair.words[kept - 1] != pair.words[i]:
                pair.words[kept] = pair.words[i]
                kept += 1
        pair.n_words = kept
        pair.ordered = True
        pair.cursor = 0

    # ---- the heap

    cdef int push(self, Pair *pair) noexcept nogil:
        cdef size_t i = self.n_heap, parent
        cdef Entry entry
        if tk_reserve(&self.heap, &self.heap_capacity, i + 1, sizeof(Entry)) != TK_OK:
            return 1
        pair.stamp += 1
        entry.count, entry.word, entry.place = pair.count, pair.word, pair.place
        entry.pair, entry.stamp = <uint32_t> (pair - self.pairs), pair.stamp
        self.n_heap += 1
        while i:
            parent = (i - 1) // 2
            if not before(&entry, &self.heap[parent]):
                break
            self.heap[i] = self.heap[parent]
            i = parent
        self.heap[i] = entry
        return TK_OK

    cdef Entry pop(self) noexcept nogil:
        cdef Entry top = self.heap[0], moved
        cdef size_t i = 0, child
        self.n_heap -= 1
        moved = self.heap[self.n_heap]
        while True:
            child = 2 * i + 1
            if child >= self.n_heap:
                break
            if child + 1 < self.n_heap and before(&self.heap[child + 1], &self.heap[child]):
                child += 1
            if not before(&self.heap[child], &moved):
                break
            self.heap[i] = self.heap[child]
            i = child
        self.heap[i] = moved
        return top

    cdef int push_touched(self) noexcept nogil:
        cdef size_t i
        cdef Pair *pair
        cdef int status = TK_OK
        for i in range(self.n_touched):
            pair = &self.pairs[self.touched[i]]
            pair.touched = False
            if status == TK_OK and pair.count > 0:
                status = self.push(pair)
        self.n_touched = 0
        return status

    cdef void first_place(self, Pair *pair) noexcept nogil:
        # Moves on to its first occurrence, which exists, at or after the known one.
        cdef uint32_t place
        self.order(pair)
        while True:
            if self.place_in(pair, pair.word, &place):
                pair.place = place
                return
            while pair.cursor < pair.n_words and pair.words[pair.cursor] <= pair.word:
                pair.cursor += 1
            if pair.cursor == pair.n_words:  # cannot happen while counts are correct
                return
            pair.word = pair.words[pair.cursor]

    cdef bint place_in(self, const Pair *pair, uint32_t number, uint32_t *place) noexcept nogil:
        cdef const int32_t *word = self.symbols + self.starts[number]
        cdef uint32_t i
        place[0] = 0
        for i in range(1, self.sizes[number]):
            if key_of(word[i - 1], word[i]) == pair.key:
                return True
            place[0] += self.lengths[word[i - 1]]
        return False

    def best(self):
        """Return (left, right, count) of the pair that occurs most, the first in the text of equals; None for none."""
        cdef Entry entry
        cdef Pair *pair = NULL
        cdef bint found = False
        cdef int status = TK_OK
        with nogil:
            while self.n_heap and not found and status == TK_OK:
                entry = self.pop()
                pair = &self.pairs[entry.pair]
                if entry.stamp != pair.stamp or pair.count <= 0:
                    continue
                self.first_place(pair)
                found = entry.count == pair.count and entry.word == pair.word and entry.place == pair.place
                status = self.push(pair)
        if status != TK_OK:
            raise MemoryError
        return (<uint32_t> (pair.key >> 32), <uint32_t> pair.key, pair.count) if found else None

    # ---- merging

    def merge(self, uint32_t left, uint32_t right, uint32_t result):
        """Make the pair one symbol wherever it occurs, from the left; `result` is the next number or a known one."""
        cdef Pair *pair
        cdef uint32_t *words = NULL
        cdef size_t i, n
        cdef int status = TK_OK
        if left >= self.n_symbols or right >= self.n_symbols or result > self.n_symbols:
            raise ValueError(f"left, right or result is out of range; there are {self.n_symbols} symbols")
        if result == self.n_symbols:
            if tk_reserve(&self.lengths, &self.lengths_capacity, self.n_symbols + 1, sizeof(uint32_t)) != TK_OK:
                raise MemoryError
            self.lengths[result] = self.lengths[left] + self.lengths[right]
            self.n_symbols += 1
        with nogil:
            pair = self.find(key_of(left, right), False)
            if pair != NULL:
                self.order(pair)
                words, n = pair.words, pair.n_words
                pair.words, pair.n_words, pair.capacity, pair.cursor = NULL, 0, 0, 0
                pair.word = 0xFFFFFFFF
                for i in range(n):
                    status = self.merge_word(words[i], left, right, result)
                    if status != TK_OK:
                        break
                free(words)
                if status == TK_OK:
                    status = self.push_touched()
        if status != TK_OK:
            raise MemoryError
        if self.visits > VISITS_A_SLICE:
            self.visits = 0
            PyErr_CheckSignals()

    cdef int merge_word(self, uint32_t number, int32_t left, int32_t right, int32_t result) noexcept nogil:
        cdef int32_t *word = self.symbols + self.starts[number]
        cdef uint32_t i = 0, kept = 0, n = self.sizes[number]
        cdef Pair *pair
        self.visits += n
        for i in range(1, n):
            if word[i - 1] == left and word[i] == right:
                kept = 1
        if not kept:  # another merge has taken this occurrence
            return TK_OK
        for i in range(1, n):
            pair = self.find(key_of(word[i - 1], word[i]), False)
            if pair != NULL:  # always
                pair.count -= self.counts[number]
        i = kept = 0
        while i < n:
            if i + 1 < n and word[i] == left and word[i + 1] == right:
                word[kept] = result
                i += 2
            else:
                word[kept] = word[i]
                i += 1
            kept += 1
        self.sizes[number] = kept
        return self.count_word(number, result)


cdef inline bint grow_words(Pair *pair) noexcept nogil:
    # From two: most pairs are rare, and there are many.
    cdef size_t capacity = 2 * pair.capacity if pair.capacity else 2
    cdef void *words = realloc(pair.words, capacity * sizeof(uint32_t))
    if words == NULL:
        return False
    pair.words, pair.capacity = <uint32_t *> words, capacity
    return True


cdef inline uint64_t key_of(int64_t left, int64_t right) noexcept nogil:
    return <uint64_t> left << 32 | <uint64_t> right


cdef inline uint64_t mixed(uint64_t key) noexcept nogil:
    key = (key ^ key >> 29) * <uint64_t> 0x9E3779B97F4A7C15
    return key ^ key >> 32
