/* The word table: open addressing over an arena of bytes. See word_counts.h. */
#include "train/word_counts.h"

enum { FIRST_SLOTS = 1024, PIECES_AT_ONCE = 256 };

void tk_word_counts_seal(tk_word_counts *t) {
    free(t->slots);
    t->slots = NULL;
    t->n_slots = 0;
}

void tk_word_counts_free(tk_word_counts *t) {
    tk_big_block_free(&t->bytes_block);
    tk_big_block_free(&t->words_block);
    free(t->slots);
    memset(t, 0, sizeof *t);
}

static inline uint32_t load32(const void *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

/* A hash made for pretokens: most are shorter than 8 bytes, where a copy of unknown length would cost a call. */
TK_INLINE uint64_t hash_word(const uint8_t *p, size_t n) {
    TK_ASSERT(n);
    uint64_t h = n * UINT64_C(0x9FB21C651E98DF25), tail;
    if (n >= 8) {
        const uint8_t *last = p + n - 8;
        for (; p < last; p += 8) h = (h ^ tk_load64(p)) * UINT64_C(0x9E3779B97F4A7C15), h ^= h >> 32;
        tail = tk_load64(last);
    } else if (n >= 4) {
        tail = (uint64_t)load32(p) << 32 | load32(p + n - 4);
    } else {
        tail = (uint64_t)p[0] << 16 | (uint64_t)p[n >> 1] << 8 | p[n - 1];
    }
    h = (h ^ tail) * UINT64_C(0xD6E8FEB86659FD93);
    h ^= h >> 32;
    return h * UINT64_C(0x9E3779B97F4A7C15);
}

TK_INLINE int same_bytes(const uint8_t *a, const uint8_t *b, size_t n) {
    if (n < 4) return a[0] == b[0] && a[n >> 1] == b[n >> 1] && a[n - 1] == b[n - 1];
    if (n < 8) return load32(a) == load32(b) && load32(a + n - 4) == load32(b + n - 4);
    if (n <= 16) return tk_load64(a) == tk_load64(b) && tk_load64(a + n - 8) == tk_load64(b + n - 8);
    return memcmp(a, b, n) == 0;
}

static int grow_slots(tk_word_counts *t) {
    size_t n = t->n_slots ? t->n_slots * 2 : FIRST_SLOTS;
    uint64_t *slots = tk_calloc(n, sizeof *slots);
    if (!slots) return TK_NO_MEMORY;
    for (size_t w = 0; w < t->n_words; w++) {
        /* The tag's bits choose the slot, so that growing needs no look at the bytes. */
        size_t i = t->words[w].tag & (n - 1);
        while (slots[i]) i = (i + 1) & (n - 1);
        slots[i] = (uint64_t)t->words[w].tag << 32 | (w + 1);
    }
    free(t->slots);
    t->slots = slots;
    t->n_slots = n;
    return TK_OK;
}

TK_NOINLINE static int new_word(tk_word_counts *t, const uint8_t *word, size_t n, int64_t count, uint32_t tag,
                                size_t slot) {
    if (n > UINT32_MAX || t->n_words >= UINT32_MAX - 1) return TK_TOO_LARGE;
    int status = tk_big_block_reserve(&t->bytes_block, t->folder, &t->bytes_capacity, t->n_bytes + n, 1);
    t->bytes = t->bytes_block.data;
    if (!status)
        status = tk_big_block_reserve(&t->words_block, t->folder, &t->words_capacity, t->n_words + 1, sizeof *t->words);
    t->words = t->words_block.data;
    if (TK_UNLIKELY(status)) return status;
    memcpy(t->bytes + t->n_bytes, word, n);
    TK_ASSERT(slot < t->n_slots && !t->slots[slot] && t->n_words < t->words_capacity);
    t->words[t->n_words] = (tk_counted_word){t->n_bytes, count, (uint32_t)n, tag};
    t->slots[slot] = (uint64_t)tag << 32 | (t->n_words + 1);
    t->n_words++;
    t->n_bytes += n;
    return TK_OK;
}

TK_NOINLINE static int add_parts(tk_word_counts *t, const uint8_t *word, size_t n, int64_t count);

/* *number gets the word's place in t->words. */
TK_INLINE int add_whole(tk_word_counts *t, const uint8_t *word, size_t n, int64_t count, uint32_t *number) {
    if (TK_UNLIKELY(t->n_words * 3 >= t->n_slots * 2) && grow_slots(t)) return TK_NO_MEMORY;
    TK_ASSERT(!(t->n_slots & (t->n_slots - 1)) && t->n_words < t->n_slots);
    uint32_t tag = (uint32_t)(hash_word(word, n) >> 32);
    size_t i = tag & (t->n_slots - 1);
    for (uint64_t slot; (slot = t->slots[i]); i = (i + 1) & (t->n_slots - 1)) {
        if (slot >> 32 != tag) continue;
        tk_counted_word *known = &t->words[(uint32_t)slot - 1];
        if (known->length == n && same_bytes(t->bytes + known->offset, word, n)) {
            *number = (uint32_t)slot - 1;
            return known->count += count, TK_OK;
        }
    }
    *number = (uint32_t)t->n_words;
    return new_word(t, word, n, count, tag, i);
}

TK_INLINE int add(tk_word_counts *t, const uint8_t *word, size_t n, int64_t count) {
    uint32_t number;
    if (TK_UNLIKELY(t->longest && n > t->longest)) return add_parts(t, word, n, count);
    return add_whole(t, word, n, count, &number);
}

static int add_parts(tk_word_counts *t, const uint8_t *word, size_t n, int64_t count) {
    for (size_t from = 0, size; from < n; from += size) {
        size = n - from < t->longest ? n - from : t->longest;
        for (int k = 0; k < 3 && size > 1 && from + size < n && (word[from + size] & 0xC0) == 0x80; k++) size--;
        TK_ASSERT(size && size <= n - from);
        int status = add(t, word + from, size, count);
        if (status) return status;
    }
    return TK_OK;
}

int tk_word_counts_add(tk_word_counts *t, const uint8_t *word, size_t n, int64_t count) {
    return add(t, word, n, count);
}

int tk_word_counts_number(tk_word_counts *t, const uint8_t *word, size_t n, int64_t count, uint32_t *number) {
    TK_ASSERT(!t->longest);
    return add_whole(t, word, n, count, number);
}

uint32_t tk_word_counts_find(const tk_word_counts *t, const uint8_t *word, size_t n) {
    if (!n || !t->n_slots) return UINT32_MAX;
    uint32_t tag = (uint32_t)(hash_word(word, n) >> 32);
    size_t i = tag & (t->n_slots - 1);
    for (uint64_t slot; (slot = t->slots[i]); i = (i + 1) & (t->n_slots - 1)) {
        const tk_counted_word *known = &t->words[(uint32_t)slot - 1];
        if (slot >> 32 == tag && known->length == n && same_bytes(t->bytes + known->offset, word, n))
            return (uint32_t)slot - 1;
    }
    return UINT32_MAX;
}

static int next_document(tk_documents *d) {
    d->start = d->stop;
    d->pos = 0;
    if (d->ends) {
        if (d->next == d->n_ends) return 0;
        TK_ASSERT(d->ends[d->next] >= (int64_t)d->start && d->ends[d->next] <= (int64_t)d->n);
        d->stop = (size_t)d->ends[d->next++];
        return 1;
    }
    if (d->start == d->n) return 0;
    const uint8_t *end = memchr(d->text + d->start, '\n', d->n - d->start);
    d->stop = end ? (size_t)(end - d->text) + 1 : d->n;
    return 1;
}

int tk_word_counts_text(tk_word_counts *t, tk_documents *d, const tk_split *split, size_t budget) {
    size_t ends[PIECES_AT_ONCE], spent = 0;
    while (spent < budget) {
        TK_ASSERT(d->start <= d->stop && d->stop <= d->n && d->pos <= d->stop - d->start);
        size_t n = d->stop - d->start, before = d->pos;
        if (before == n) {
            if (!next_document(d)) return d->done = 1, TK_OK;
            continue;
        }
        const uint8_t *text = d->text + d->start;
        size_t n_pieces = tk_scan(split, text, n, &d->pos, ends, PIECES_AT_ONCE), from = before;
        for (size_t k = 0; k < n_pieces; from = ends[k++] & ~TK_DROPPED) {
            if (TK_UNLIKELY(ends[k] & TK_DROPPED)) continue;
            int status = add(t, text + from, ends[k] - from, 1);
            if (TK_UNLIKELY(status)) return status;
        }
        spent += d->pos - before;
        tk_work += d->pos - before;
    }
    return TK_OK;
}

int tk_word_counts_merge(tk_word_counts *t, const tk_word_counts *from) {
    TK_ASSERT(t != from);
    for (size_t w = 0; w < from->n_words; w++) {
        const tk_counted_word *word = &from->words[w];
        int status = add(t, from->bytes + word->offset, word->length, word->count);
        if (status) return status;
    }
    return TK_OK;
}
