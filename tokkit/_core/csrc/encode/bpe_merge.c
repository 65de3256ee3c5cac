/* Byte-pair merging in arrays and in a heap: see bpe_merge.h. */
#include "encode/bpe_merge.h"

#include "encode/merge_heap.h"

void tk_merger_free(tk_merger *m) {
    free(m->symbols);
    free(m->next);
    free(m->previous);
    free(m->heap);
    free(m->memo);
    free(m->dead);
    free(m->waited);
    free(m->tokens);
    free(m->nodes);
    memset(m, 0, sizeof *m);
}

/* The loops that close a gap are short: a call of memmove, which GCC would make of them, costs more than it moves. */
#if defined(__GNUC__) && !defined(__clang__)
#define SHORT_LOOPS __attribute__((optimize("no-tree-loop-distribute-patterns")))
#else
#define SHORT_LOOPS
#endif

/* Whether a merge is done in any case, as seen from its right end at bytes[next]. */
TK_INLINE int before_next(const tk_bpe *model, const uint8_t *bytes, size_t n, size_t next, uint32_t merged) {
    return next == n || merged < model->least_behind[(size_t)bytes[next - 1] << 8 | bytes[next]];
}

/* What the two bytes at i, which are `two`, become with a third in any case: a character. Or `two`. */
TK_INLINE uint32_t character(const tk_bpe *model, const uint8_t *bytes, size_t n, size_t i, uint32_t two) {
    if (bytes[i] >> 4 != 0xE || i + 2 >= n || (i && bytes[i - 1] >> 6 != 2)) return two;
    uint32_t merged = tk_pair(model, two, bytes[i + 2]);
    if (merged == TK_NONE || !before_next(model, bytes, n, i + 3, merged)) return two;
    return !i || merged < model->least_before_two[tk_before_two(bytes + i, bytes[i - 1])] ? merged : two;
}

/* The symbols that merging begins with: bytes, pairs of them that merge in any case, and characters of three. So do b
   and c in a, b, c, d if that merge has a lesser number than all of a token ending in a with b, and of c with a token
   beginning with d. For as long as b and c stand there, theirs comes before those; and where no token has a lesser
   number than its parts, to have it done at once lets nothing come earlier than it would have. Two such pairs do not
   overlap: each would have to be less than the other. The same holds for such a pair and the byte after it. */
static size_t begin(const tk_bpe *model, const uint8_t *bytes, size_t n, uint32_t *symbols) {
    size_t count = 0;
    if (!model->least_before) {
        for (size_t i = 0; i < n; i++) symbols[i] = bytes[i];
        return n;
    }
    uint32_t before = TK_NONE; /* the least merge that takes bytes[i] to the left */
    for (size_t i = 0; i < n;) {
        size_t next = i + 1;
        uint32_t merged = next < n ? model->byte_pairs[(size_t)bytes[i] << 8 | bytes[next]] : TK_NONE;
        if (merged < before && before_next(model, bytes, n, next + 1, merged)) {
            uint32_t three = character(model, bytes, n, i, merged);
            symbols[count++] = three;
            next += 1 + (three != merged);
        } else {
            symbols[count++] = bytes[i];
        }
        if (next < n) before = model->least_before[(size_t)bytes[next - 1] << 8 | bytes[next]];
        i = next;
    }
    return count;
}

/* results[i] is what symbols[i] and symbols[i + 1] merge to; the arrays are compacted at each merge. */
SHORT_LOOPS static size_t merge_small(const tk_bpe *model, const uint8_t *bytes, size_t n, uint32_t *symbols,
                          uint32_t *results) {
    n = begin(model, bytes, n, symbols);
    for (size_t i = 0; i + 1 < n; i++) results[i] = tk_pair(model, symbols[i], symbols[i + 1]);
    while (n > 1) {
        uint32_t best = results[0];
        size_t at = 0;
        for (size_t i = 1; i + 1 < n; i++)
            if (results[i] < best) best = results[i], at = i;
        if (best == TK_NONE) break;
        symbols[at] = best;
        n--;
        for (size_t i = at + 1; i < n; i++) symbols[i] = symbols[i + 1];
        for (size_t i = at; i + 1 < n; i++) results[i] = results[i + 1];
        if (at) results[at - 1] = tk_pair(model, symbols[at - 1], best);
        if (at + 1 < n) results[at] = tk_pair(model, best, symbols[at + 1]);
    }
    return n;
}

static int reserve(tk_merger *m, size_t n) {
    if (n <= m->capacity) return TK_OK;
    free(m->symbols);
    free(m->next);
    free(m->previous);
    free(m->heap);
    m->capacity = 0;
    m->symbols = tk_alloc(n, sizeof *m->symbols);
    m->next = tk_alloc(n, sizeof *m->next);
    m->previous = tk_alloc(n, sizeof *m->previous);
    m->heap = tk_alloc(3, n * sizeof *m->heap); /* a merge adds two entries at most, and takes one symbol */
    if (!m->symbols || !m->next || !m->previous || !m->heap) return TK_NO_MEMORY;
    m->capacity = n;
    return TK_OK;
}

/* The least entry of the heap is the next merge; one whose symbols have changed since is passed over. */
static size_t merge_long(const tk_bpe *model, tk_merger *m, const uint8_t *bytes, uint32_t n) {
    uint32_t *symbols = m->symbols, *next = m->next, *previous = m->previous;
    uint64_t *heap = m->heap;
    size_t entries = 0, pops = 0;
    tk_work += n;
    n = (uint32_t)begin(model, bytes, n, symbols);
    for (uint32_t i = 0; i < n; i++) {
        next[i] = i + 1;
        previous[i] = i - 1;
        uint32_t result = i + 1 < n ? tk_pair(model, symbols[i], symbols[i + 1]) : TK_NONE;
        if (result != TK_NONE) heap[entries++] = (uint64_t)result << 32 | i;
    }
    tk_heap_build(heap, entries);
    for (; entries; pops++) {
        uint64_t top = tk_heap_pop(heap, &entries);
        uint32_t result = (uint32_t)(top >> 32), i = (uint32_t)top, j;
        if (symbols[i] == TK_NONE || (j = next[i]) == n || tk_pair(model, symbols[i], symbols[j]) != result) continue;
        symbols[i] = result;
        symbols[j] = TK_NONE;
        uint32_t after = next[i] = next[j], before = previous[i], pair;
        if (after < n) {
            previous[after] = i;
            if ((pair = tk_pair(model, result, symbols[after])) != TK_NONE)
                tk_heap_push(heap, &entries, (uint64_t)pair << 32 | i);
        }
        if (before != UINT32_MAX && (pair = tk_pair(model, symbols[before], result)) != TK_NONE)
            tk_heap_push(heap, &entries, (uint64_t)pair << 32 | before);
    }
    tk_work += pops;
    size_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        if (symbols[i] != TK_NONE) symbols[count++] = symbols[i];
    return count;
}

int tk_merge(const tk_bpe *model, tk_merger *merger, const uint8_t *bytes, size_t n, uint32_t **symbols,
             size_t *count) {
    if (n <= TK_SMALL_MERGE) {
        *symbols = merger->small_symbols;
        *count = merge_small(model, bytes, n, merger->small_symbols, merger->small_results);
        return TK_OK;
    }
    if (n >= UINT32_MAX) return TK_TOO_LARGE;
    int status = reserve(merger, n);
    if (status != TK_OK) return status;
    *symbols = merger->symbols;
    *count = merge_long(model, merger, bytes, (uint32_t)n);
    return TK_OK;
}
