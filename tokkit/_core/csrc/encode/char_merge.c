/* Merging of characters in small arrays and in a heap: see char_merge.h. */
#include "encode/char_merge.h"

#include "large_memory.h"
#include "encode/merge_heap.h"

int tk_char_pairs_init(tk_char_pairs *pairs, size_t n) {
    size_t slots = 64;
    unsigned bits = 6;
    while (slots < 2 * n) slots *= 2, bits++;
    pairs->mask = slots - 1;
    pairs->shift = 64 - bits;
    pairs->slots = tk_table_alloc(slots * sizeof *pairs->slots);
    pairs->filter = tk_calloc((size_t)1 << TK_PAIR_FILTER_BITS >> 3, 1);
    if (!pairs->slots || !pairs->filter) return TK_NO_MEMORY;
    memset(pairs->slots, 0xFF, slots * sizeof *pairs->slots);
    return TK_OK;
}

void tk_char_pairs_free(tk_char_pairs *pairs) {
    tk_table_free(pairs->slots, (pairs->mask + 1) * sizeof *pairs->slots);
    free(pairs->filter);
    memset(pairs, 0, sizeof *pairs);
}

void tk_char_pairs_put(tk_char_pairs *pairs, uint32_t left, uint32_t right, uint32_t rank, uint32_t result) {
    uint64_t key = (uint64_t)left << 32 | right, hash = tk_char_pair_hash(key);
    TK_ASSERT(rank < TK_NO_RANK && (pairs->mask & (pairs->mask + 1)) == 0);
    size_t slot = (size_t)(hash >> pairs->shift);
    tk_set_bit(pairs->filter, (size_t)(hash >> (64 - TK_PAIR_FILTER_BITS)));
    while (pairs->slots[slot].key != key && pairs->slots[slot].key != UINT64_MAX) slot = (slot + 1) & pairs->mask;
    pairs->slots[slot] = (tk_ranked_pair){key, rank, result};
}

/* ---- a few symbols */

/* Items from k + 1 on, up to n, each to the place before it, four at a time: they are few. */
TK_INLINE void move_down(uint32_t *items, size_t k, size_t n) {
    uint32_t four[4];
    for (; k < n; k += 4) {
        memcpy(four, items + k + 1, sizeof four);
        memcpy(items + k, four, sizeof four);
    }
}

size_t tk_merge_few(const tk_char_pairs *pairs, tk_few *few, size_t n) {
    uint32_t *ranks = few->ranks;
    TK_ASSERT(n <= TK_FEW_SYMBOLS);
    while (n > 1) {
        uint32_t least = ranks[0];
        size_t k = 0;
        for (size_t i = 1; i + 1 < n; i++) k = ranks[i] < least ? i : k, least = ranks[i] < least ? ranks[i] : least;
        if (least == TK_NO_RANK) break;
        few->ids[k] = few->results[k];
        n--;
        move_down(few->at, k + 1, n);
        move_down(few->ids, k + 1, n);
        move_down(ranks, k + 1, n);
        move_down(few->results, k + 1, n);
        if (k + 1 < n) tk_few_look(pairs, few, k);
        if (k) tk_few_look(pairs, few, k - 1);
    }
    return n;
}

/* ---- many */

int tk_merge_reserve(tk_merge_scratch *s, size_t n, const tk_merge_options *o) {
    if (n >= UINT32_MAX) return TK_TOO_LARGE;
    /* A merge puts in two pairs and takes one symbol, so 3n entries are enough. */
    int status = tk_reserve(&s->links, &s->links_capacity, n, sizeof *s->links);
    if (status == TK_OK) status = tk_reserve(&s->heap, &s->heap_capacity, 3 * n, sizeof *s->heap);
    if (status == TK_OK && o->dropout > 0 && o->merges)
        status = tk_reserve(&s->skipped, &s->skipped_capacity, 3 * n, sizeof *s->skipped);
    return status;
}

void tk_merge_scratch_free(tk_merge_scratch *s) {
    free(s->links);
    free(s->heap);
    free(s->skipped);
    memset(s, 0, sizeof *s);
}

void tk_merge_scratch_shrink(tk_merge_scratch *s, size_t most) {
    tk_shrink(&s->links, &s->links_capacity, sizeof *s->links, most);
    tk_shrink(&s->heap, &s->heap_capacity, sizeof *s->heap, most);
    tk_shrink(&s->skipped, &s->skipped_capacity, sizeof *s->skipped, most);
}

/* What the symbol at `left` and the next one become, or NULL. */
TK_INLINE const tk_ranked_pair *pair_at(const tk_char_pairs *pairs, const tk_merge_link *links, uint32_t left,
                                        size_t n) {
    uint32_t right = links[left].next;
    return right < n ? tk_char_pair(pairs, links[left].id, links[right].id) : NULL;
}

static const tk_ranked_pair *seen(const tk_char_pairs *pairs, const tk_merge_scratch *s, uint32_t left, size_t n,
                                  const tk_merge_options *o) {
    const tk_ranked_pair *pair = pair_at(pairs, s->links, left, n);
    if (pair && o->last_made) {
        o->last_made[2 * (size_t)pair->result] = (uint32_t)(pair->key >> 32);
        o->last_made[2 * (size_t)pair->result + 1] = (uint32_t)pair->key;
    }
    return pair;
}

static void offer(const tk_char_pairs *pairs, tk_merge_scratch *s, size_t *entries, uint32_t left, size_t n,
                  const tk_merge_options *o) {
    const tk_ranked_pair *pair = seen(pairs, s, left, n, o);
    if (pair) tk_heap_push(s->heap, entries, (uint64_t)pair->rank << 32 | left);
}

/* Whether a pair is what an entry stands for. Of equal ranks it may be another than was put there; but then its own
   entry is the same number, and of several of these one is looked at. */
TK_INLINE int is_entry(const tk_ranked_pair *pair, uint32_t rank, const tk_merge_options *o) {
    if (!pair) return 0;
    return o->merges ? pair->result == o->merges[3 * (size_t)rank + 2] : pair->rank == rank;
}

void tk_merge_many(const tk_char_pairs *pairs, tk_merge_scratch *s, size_t n, const tk_merge_options *o) {
    tk_merge_link *links = s->links;
    size_t entries = 0, skipped = 0, pops = 0;
    TK_ASSERT(n && n <= s->links_capacity && n < UINT32_MAX);
    for (uint32_t i = 0; i < n; i++) links[i].previous = i - 1, links[i].next = i + 1;
    for (uint32_t i = 0; i + 1 < n; i++) {
        const tk_ranked_pair *pair = seen(pairs, s, i, n, o);
        if (pair) s->heap[entries++] = (uint64_t)pair->rank << 32 | i;
    }
    tk_heap_build(s->heap, entries);
    for (; entries; pops++) {
        uint64_t top = tk_heap_pop(s->heap, &entries);
        uint32_t left = (uint32_t)top;
        if (o->merges) {
            if (o->dropout > 0 && tk_chance(o->random) < o->dropout) {
                s->skipped[skipped++] = top;
                continue;
            }
            for (; skipped; pops++) tk_heap_push(s->heap, &entries, s->skipped[--skipped]);
        } else {
            while (entries && s->heap[0] == top) tk_heap_pop(s->heap, &entries);
        }
        const tk_ranked_pair *pair = pair_at(pairs, links, left, n);
        if (!is_entry(pair, (uint32_t)(top >> 32), o)) continue;
        if (!o->merges && o->dropout > 0 && tk_chance(o->random) < o->dropout) continue;
        uint32_t right = links[left].next, after = links[right].next;
        links[left].id = pair->result;
        links[right].id = TK_NO_ID;
        links[left].next = after;
        if (after < n) {
            links[after].previous = left;
            offer(pairs, s, &entries, left, n, o);
        }
        if (links[left].previous != UINT32_MAX) offer(pairs, s, &entries, links[left].previous, n, o);
    }
    tk_work += n + pops;
}
