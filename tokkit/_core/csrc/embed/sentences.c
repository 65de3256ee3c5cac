/* Splitting lines at white space, and numbering their words: see sentences.h. */
#include "embed/sentences.h"

void tk_sentences_free(tk_sentences *s) {
    tk_word_counts_free(&s->words);
    free(s->ids);
    free(s->ends);
    memset(s, 0, sizeof *s);
}

int tk_sentences_end(tk_sentences *s) {
    TK_ASSERT(s->last_end <= s->n_all);
    if (s->n_all == s->last_end) return TK_OK;
    if (tk_reserve(&s->ends, &s->ends_capacity, s->n_ends + 1, sizeof *s->ends)) return TK_NO_MEMORY;
    s->ends[s->n_ends++] = s->last_end = s->n_all;
    return TK_OK;
}

TK_INLINE int add_word(tk_sentences *s, const uint8_t *word, size_t n) {
    TK_ASSERT(n && s->max_words && s->n_all - s->last_end < (int64_t)s->max_words);
    uint32_t number;
    int status = tk_word_counts_number(&s->words, word, n, 1, &number);
    if (TK_UNLIKELY(status)) return status;
    if (TK_UNLIKELY(s->n_ids == s->ids_capacity) &&
        tk_reserve(&s->ids, &s->ids_capacity, s->n_ids + 1, sizeof *s->ids))
        return TK_NO_MEMORY;
    s->ids[s->n_ids++] = number;
    s->n_all++;
    return s->n_all - s->last_end == (int64_t)s->max_words ? tk_sentences_end(s) : TK_OK;
}

int tk_sentences_word(tk_sentences *s, const uint8_t *word, size_t n) { return add_word(s, word, n); }

/* Bytes of the white space at p, in valid UTF-8 that ends at `end`; 0 where there is none. */
TK_INLINE size_t white_space(const uint8_t *p, const uint8_t *end) {
    uint8_t c = *p;
    if (TK_LIKELY(c < 0x80)) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
    if (c == 0xC2) return end - p > 1 && (p[1] == 0x85 || p[1] == 0xA0) ? 2 : 0;
    if ((c != 0xE1 && c != 0xE2 && c != 0xE3) || end - p < 3) return 0;
    unsigned low = (unsigned)p[1] << 8 | p[2];
    if (c == 0xE1) return low == 0x9A80 ? 3 : 0;
    if (c == 0xE3) return low == 0x8080 ? 3 : 0;
    return (low >= 0x8080 && low <= 0x808A) || low == 0x80A8 || low == 0x80A9 || low == 0x80AF || low == 0x819F ? 3 : 0;
}

int tk_sentences_text(tk_sentences *s, const uint8_t *text, size_t n, int last, size_t *used) {
    const uint8_t *p = text, *end = text + n;
    int status = TK_OK;
    *used = 0;
    while (p < end) {
        size_t space = white_space(p, end);
        if (space) {
            if (*p == '\n' && (status = tk_sentences_end(s))) return status;
            p += space;
            *used = (size_t)(p - text);
            continue;
        }
        const uint8_t *word = p;
        while (p < end && !white_space(p, end)) p++;
        if (p == end && !last) break;
        if (TK_UNLIKELY(status = add_word(s, word, (size_t)(p - word)))) return status;
        *used = (size_t)(p - text);
    }
    tk_work += *used;
    return last ? tk_sentences_end(s) : TK_OK;
}

size_t tk_sentences_map(uint32_t *ids, size_t n_ids, int64_t *ends, size_t *n_ends, const uint32_t *map) {
    size_t to = 0, from = 0, left = 0;
    for (size_t e = 0; e < *n_ends; e++) {
        size_t begin = to;
        TK_ASSERT(ends[e] >= (int64_t)from && ends[e] <= (int64_t)n_ids && to <= from);
        for (; from < (size_t)ends[e] && from < n_ids; from++) {
            uint32_t id = map[ids[from]];
            ids[to] = id;
            to += id != UINT32_MAX;
        }
        ends[left] = (int64_t)to;
        left += to != begin;
    }
    *n_ends = left;
    return to;
}
