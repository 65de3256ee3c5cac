/* Computes the rows of co-occurrence counts: see cooccurrence.h. */
#include "embed/cooccurrence.h"

/* The window of a word is asked for so many words before its turn: texts are larger than caches. */
enum { WINDOWS_AHEAD = 8 };

static size_t words_of_bits(size_t n) { return n / 64 + 1; }

int tk_row_sums_open(tk_row_sums *s, size_t n_words) {
    *s = (tk_row_sums){.n_words = n_words};
    s->sums = tk_calloc(n_words, sizeof *s->sums);
    s->touched = tk_calloc(words_of_bits(n_words), sizeof *s->touched);
    s->groups = tk_calloc(words_of_bits(words_of_bits(n_words)), sizeof *s->groups);
    return s->sums && s->touched && s->groups ? TK_OK : TK_NO_MEMORY;
}

void tk_row_sums_close(tk_row_sums *s) {
    free(s->sums);
    free(s->touched);
    free(s->groups);
    *s = (tk_row_sums){0};
}

TK_INLINE void add(tk_row_sums *s, size_t word, double by) {
    TK_ASSERT(word < s->n_words);
    s->sums[word] += by;
    s->touched[word / 64] |= UINT64_C(1) << (word & 63);
    s->groups[word / 4096] |= UINT64_C(1) << (word / 64 & 63);
}

/* Move the row to `out`, and begin another. */
static void take(tk_row_sums *s, size_t row, tk_rows_out *out) {
    size_t before = out->used, groups = words_of_bits(words_of_bits(s->n_words));
    for (size_t g = 0; g < groups; g++) {
        for (uint64_t group = s->groups[g]; group; group &= group - 1) {
            size_t t = g * 64 + tk_lowest_bit(group);
            for (uint64_t bits = s->touched[t]; bits; bits &= bits - 1) {
                size_t word = t * 64 + tk_lowest_bit(bits);
                out->indices[out->used] = (int32_t)word;
                out->values[out->used++] = s->sums[word];
                s->sums[word] = 0;
            }
            s->touched[t] = 0;
        }
        s->groups[g] = 0;
    }
    TK_ASSERT(out->used <= out->room && out->used - before <= s->n_words);
    out->lengths[row] = (int64_t)(out->used - before);
}

int tk_occurrences_open(tk_occurrences *o, const uint32_t *ids, size_t n, size_t first, size_t last,
                        const int64_t *ends, size_t n_sentences, size_t n_words) {
    *o = (tk_occurrences){.n_words = n_words};
    TK_ASSERT(first <= last && last <= n && (ids || !n) && (ends || !n_sentences));
    if (n + n_sentences >= UINT32_MAX || n_words >= INT32_MAX) return TK_TOO_LARGE;
    for (size_t i = 0; i < n; i++)
        if (ids[i] >= n_words) return TK_BAD_INPUT;
    o->text = tk_alloc(n + n_sentences + 1, sizeof *o->text);
    o->places = tk_alloc(last - first, sizeof *o->places);
    o->starts = tk_calloc(n_words + 2, sizeof *o->starts);
    if (!o->text || !o->places || !o->starts) return TK_NO_MEMORY;
    /* Counted two further on, the starts are those of the next word while places are written, and right after. */
    for (size_t i = first; i < last; i++) o->starts[ids[i] + 2]++;
    for (size_t i = 2; i < n_words + 2; i++) o->starts[i] += o->starts[i - 1];
    size_t at = 0, from = 0;
    o->text[at++] = (uint32_t)n_words;
    for (size_t s = 0; s < n_sentences; s++) {
        size_t to = (size_t)ends[s];
        if (ends[s] < 0 || to < from || to > n) return TK_BAD_INPUT;
        for (size_t i = from; i < to; i++, at++) {
            o->text[at] = ids[i];
            if (i >= first && i < last) o->places[o->starts[ids[i] + 1]++] = (uint32_t)at;
        }
        o->text[at++] = (uint32_t)n_words;
        from = to;
    }
    return from == n ? TK_OK : TK_BAD_INPUT;
}

void tk_occurrences_close(tk_occurrences *o) {
    free(o->text);
    free(o->places);
    free(o->starts);
    *o = (tk_occurrences){0};
}

size_t tk_count_rows(const tk_occurrences *o, const tk_window *w, tk_row_sums *s, size_t from, size_t to,
                     tk_rows_out *out) {
    const uint32_t outside = (uint32_t)o->n_words;
    size_t row = from;
    TK_ASSERT(from <= to && to <= o->n_words && o->n_words == s->n_words && out->used <= out->room);
    for (; row < to && out->room - out->used >= o->n_words; row++) {
        const size_t end = o->starts[row + 1];
        for (size_t i = o->starts[row]; i < end; i++) {
            const uint32_t *here = o->text + o->places[i];
            if (i + WINDOWS_AHEAD < end) TK_PREFETCH(o->text + o->places[i + WINDOWS_AHEAD]);
            for (size_t k = 1; k <= w->before && here[-(ptrdiff_t)k] != outside; k++)
                add(s, here[-(ptrdiff_t)k], w->weights[k - 1]);
            for (size_t k = 1; k <= w->after && here[k] != outside; k++) add(s, here[k], w->weights[k - 1]);
        }
        tk_work += (end - o->starts[row]) * (w->before + w->after);
        take(s, row - from, out);
    }
    return row;
}

size_t tk_merge_rows(const tk_run *runs, size_t n_runs, tk_row_sums *s, size_t from, size_t to, tk_rows_out *out) {
    size_t row = from;
    TK_ASSERT(from <= to && to <= s->n_words && (runs || !n_runs) && out->used <= out->room);
    for (; row < to && out->room - out->used >= s->n_words; row++) {
        for (size_t r = 0; r < n_runs; r++)
            for (int64_t i = runs[r].starts[row]; i < runs[r].starts[row + 1]; i++)
                add(s, (size_t)runs[r].indices[i], runs[r].values[i]);
        take(s, row - from, out);
    }
    return row;
}
