/* The run loop of compiled patterns, and the memo that keeps it linear: see dfa.h.

   The loop takes one character after another and never looks back: a row that ends a pretoken has already begun the
   next one, so each byte costs one dependent load. What is left for `attempt` is rare: matches that fail after a
   long way, and matches that begin in unmatched text and may fail.

   A pattern such as a*b|a reads all of aaaa… at each place, to find no b. Rows that fail from a place on do so
   whatever came before, so `attempt` writes down (place, row) every CHECK bytes of a way that failed, and gives up
   where it meets one of them: at most CHECK bytes are read in vain at each place, and CHECK bytes for each entry. */
#include "split/dfa.h"

enum { CHECK = TK_DFA_CHECK, FIRST_SLOTS = 256 };

_Static_assert(!(CHECK & (CHECK - 1)) && !(FIRST_SLOTS & (FIRST_SLOTS - 1)), "they are used as masks");
_Static_assert(TK_DFA_CODE_BLOCKS * 64 == 0x110000, "an entry for each block of 64");

void tk_dfa_memo_free(tk_dfa_memo *memo) {
    free(memo->slots);
    free(memo->pending);
    memset(memo, 0, sizeof *memo);
}

static void evict_all(tk_dfa_memo *memo) {
    for (size_t i = 0; i < memo->n_slots; i++) memo->slots[i].at = SIZE_MAX;
    memo->used = 0;
}

/* The slot that has the failure, or is free for it. */
static tk_dfa_failure *slot_of(tk_dfa_failure *slots, size_t n_slots, size_t at, uint32_t row) {
    TK_ASSERT(n_slots && !(n_slots & (n_slots - 1)) && at != SIZE_MAX);
    size_t i = (size_t)tk_mix64((uint64_t)at << 24 ^ row) & (n_slots - 1);
    while (slots[i].at != SIZE_MAX && (slots[i].at != at || slots[i].row != row)) i = (i + 1) & (n_slots - 1);
    return &slots[i];
}

/* Make room for `more`; places before `from` are not met again. */
static int make_room(tk_dfa_memo *memo, size_t more, size_t from) {
    if ((memo->used + more) * 2 <= memo->n_slots) return 1;
    size_t n = memo->n_slots ? memo->n_slots : FIRST_SLOTS, kept = 0;
    for (size_t i = 0; i < memo->n_slots; i++) kept += memo->slots[i].at != SIZE_MAX && memo->slots[i].at >= from;
    while ((kept + more) * 4 > n) n *= 2;
    tk_dfa_failure *slots = tk_alloc(n, sizeof *slots);
    if (!slots) return 0;
    for (size_t i = 0; i < n; i++) slots[i].at = SIZE_MAX;
    for (size_t i = 0; i < memo->n_slots; i++) {
        tk_dfa_failure f = memo->slots[i];
        if (f.at != SIZE_MAX && f.at >= from) *slot_of(slots, n, f.at, f.row) = f;
    }
    free(memo->slots);
    memo->slots = slots;
    memo->n_slots = n;
    memo->used = kept;
    TK_ASSERT((kept + more) * 2 <= n); /* free slots end each search */
    return 1;
}

static void note_failures(tk_dfa_memo *memo, size_t from) {
    if (!make_room(memo, memo->n_pending, from)) return;
    for (size_t k = 0; k < memo->n_pending; k++) {
        tk_dfa_failure *slot = slot_of(memo->slots, memo->n_slots, memo->pending[k].at, memo->pending[k].row);
        TK_ASSERT(memo->pending[k].at >= from && memo->used < memo->n_slots);
        memo->used += slot->at == SIZE_MAX;
        *slot = memo->pending[k];
    }
}

/* At a check: whether this way is known to fail; if not, it is remembered in case it does. */
static int known_failure(tk_dfa_memo *memo, size_t at, uint32_t row) {
    if (memo->used && slot_of(memo->slots, memo->n_slots, at, row)->at != SIZE_MAX) return 1;
    if (!tk_reserve(&memo->pending, &memo->pending_capacity, memo->n_pending + 1, sizeof *memo->pending))
        memo->pending[memo->n_pending++] = (tk_dfa_failure){at, row};
    return 0;
}

/* The end of the match that begins at `from`, or 0. */
static size_t attempt(const tk_dfa *dfa, tk_dfa_memo *memo, const uint8_t *text, size_t n, size_t from) {
    size_t p = from, last = 0, check = (from | (CHECK - 1)) + 1;
    uint32_t row = tk_dfa_start(dfa, text, text + from);
    TK_ASSERT(from < n);
    if (memo) memo->n_pending = 0;
    for (;;) {
        unsigned length = 0;
        if (p >= check) {
            check = (p | (CHECK - 1)) + 1;
            if (memo && row >= dfa->unsure && known_failure(memo, p, row)) break;
        }
        size_t cell = row + (p < n ? tk_dfa_class_at(dfa, text + p, &length) : dfa->n_classes - 1);
        unsigned action = dfa->action[cell];
        if (action & TK_DFA_END) return p;
        if (action & TK_DFA_BACK) break;
        if (action & TK_DFA_MARK) {
            last = p;
            if (memo) memo->n_pending = 0;
        }
        row = dfa->next[cell];
        if (tk_dfa_in_gap(dfa, row)) return 0;
        p += length;
    }
    tk_work += p - from;
    if (memo && memo->n_pending) note_failures(memo, from);
    return last;
}

size_t tk_dfa_scan(const tk_dfa *dfa, tk_dfa_memo *memo, const uint8_t *text, size_t n, size_t *pos, size_t *ends,
                   size_t limit) {
    const uint32_t *next = dfa->next;
    const uint8_t *actions = dfa->action;
    const size_t dropped = dfa->dropped, first = *pos;
    size_t p = first, last = first, count = 0, begin, from;
    uint32_t row;
    unsigned length;
    TK_ASSERT(dfa->n_classes && (dropped == TK_DROPPED || !dropped) && limit);
    if (first == 0 && memo && memo->used) evict_all(memo);
    if (first >= n) return 0;
    row = tk_dfa_start(dfa, text, text + first);
    while (count < limit) {
        unsigned action = 0;
        size_t stop = n - p < CHECK ? n : p + CHECK;
        while (p < stop && count < limit) {
            size_t cell = row + tk_dfa_class_at(dfa, text + p, &length);
            action = actions[cell];
            if (TK_UNLIKELY(action >= TK_DFA_BACK)) break;
            ends[count] = action & TK_DFA_DROP ? p | dropped : p;
            count += action & TK_DFA_END;
            last = action & TK_DFA_MARK ? p : last;
            row = next[cell];
            p += length;
        }
        if (count == limit) break;
        if (p == n && action < TK_DFA_BACK) {
            action = actions[row + dfa->n_classes - 1];
            if (action & TK_DFA_END) {
                ends[count++] = action & TK_DFA_DROP ? n | dropped : n;
                break;
            }
        }
        begin = count ? ends[count - 1] & ~TK_DROPPED : first;
        TK_ASSERT(begin <= p && last <= p && p <= n);
        if (action & TK_DFA_TRY) {
            from = p;
        } else if (action & TK_DFA_BACK) {
            if (last > begin && p - last <= CHECK) {
                ends[count++] = p = last;
                row = tk_dfa_start(dfa, text, text + p);
                continue;
            }
            from = begin;
        } else if (row >= dfa->unsure && p - (last > begin ? last : begin) > CHECK) {
            from = begin; /* a long way without a match: it must not be gone again from each place */
        } else {
            continue;
        }
        p = attempt(dfa, memo, text, n, from);
        if (p) {
            if (from > begin) ends[count++] = from | dropped;
            if (count == limit) break;
            ends[count++] = p;
            if (p == n) break;
            row = tk_dfa_start(dfa, text, text + p);
        } else {
            tk_dfa_class_at(dfa, text + from, &length);
            p = from + length;
            row = tk_dfa_gap(dfa, text + from);
        }
    }
    tk_work += p - first;
    TK_ASSERT(count && count <= limit && (ends[count - 1] & ~TK_DROPPED) > first);
    if (count) *pos = ends[count - 1] & ~TK_DROPPED;
    return count;
}
