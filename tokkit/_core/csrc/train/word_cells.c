/* Lays out words in cells, the most frequent first: see word_cells.h. */
#include "train/word_cells.h"

#include "text/utf8.h"

enum { COMMON_COUNTS = 4096 };

void tk_word_cells_free(tk_word_cells *c) {
    tk_big_block_free(&c->cells_block);
    void *blocks[] = {c->run_of_block, c->run_ends, c->run_counts};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
    memset(c, 0, sizeof *c);
}

static int more_often(const void *a, const void *b) {
    int64_t x = ((const tk_counted_word *)a)->count, y = ((const tk_counted_word *)b)->count;
    return (x < y) - (x > y);
}

/* Words of at least `least` bytes and one occurrence, the most frequent first. Order among equals cannot matter:
   what a merge changes is a sum over words. Rare words are most, and a counting sort orders them in one pass. */
static tk_counted_word *sorted_words(const tk_word_counts *words, uint32_t least, size_t *n, size_t *n_cells) {
    size_t starts[COMMON_COUNTS + 1] = {0}, n_common = 0;
    *n = 0, *n_cells = 1;
    for (size_t w = 0; w < words->n_words; w++) {
        const tk_counted_word *word = &words->words[w];
        if (word->length < least || word->count < 1) continue;
        ++*n;
        *n_cells += (size_t)word->length + 1;
        if (word->count < COMMON_COUNTS) starts[word->count]++;
        else n_common++;
    }
    tk_counted_word *sorted = tk_alloc(*n, sizeof *sorted);
    if (!sorted) return NULL;
    size_t at = n_common, common = 0;
    for (size_t c = COMMON_COUNTS; c-- > 1;) {
        size_t same = starts[c];
        starts[c] = at;
        at += same;
    }
    for (size_t w = 0; w < words->n_words; w++) {
        const tk_counted_word *word = &words->words[w];
        if (word->length < least || word->count < 1) continue;
        sorted[word->count < COMMON_COUNTS ? starts[word->count]++ : common++] = *word;
    }
    TK_ASSERT(common == n_common && at == *n);
    qsort(sorted, n_common, sizeof *sorted, more_often);
    return sorted;
}

static size_t spell(const tk_spelling *s, const uint8_t *bytes, size_t n, uint32_t *out) {
    size_t made = 0;
    if (s->bytes) {
        for (; made < n; made++) out[made] = s->bytes[bytes[made]];
        return made;
    }
    unsigned length;
    for (size_t k = 0; k < n; k += length) {
        tk_token id = (k ? s->rest : s->first)[tk_utf8_decode(bytes + k, &length)];
        TK_ASSERT(length <= n - k);
        if (id) out[made++] = id - 1;
    }
    return made;
}

static int fill(tk_word_cells *c, const tk_word_counts *words, const tk_spelling *s, const tk_counted_word *sorted,
                size_t n) {
    size_t n_runs = 0;
    for (size_t w = 0; w < n; w++) n_runs += w == 0 || sorted[w].count != sorted[w - 1].count;
    int status = tk_big_block_make(&c->cells_block, c->folder, c->n_cells, sizeof *c->cells);
    if (status) return status;
    c->cells = c->cells_block.data;
    c->run_of_block = tk_calloc((c->n_cells >> TK_CELL_BLOCK_BITS) + 1, sizeof *c->run_of_block);
    c->run_ends = tk_alloc(n_runs, sizeof *c->run_ends);
    c->run_counts = tk_alloc(n_runs, sizeof *c->run_counts);
    if (!c->run_of_block || !c->run_ends || !c->run_counts) return TK_NO_MEMORY;
    size_t at = 0, block = 0;
    c->cells[at++] = TK_BORDER;
    for (size_t w = 0; w < n; w++) {
        if (w == 0 || sorted[w].count != sorted[w - 1].count) c->run_counts[c->n_runs++] = sorted[w].count;
        at += spell(s, words->bytes + sorted[w].offset, sorted[w].length, c->cells + at);
        c->cells[at++] = TK_BORDER;
        c->run_ends[c->n_runs - 1] = (uint32_t)at;
        /* The blocks that begin in this word; the run's end is exclusive. */
        for (; block << TK_CELL_BLOCK_BITS < at; block++) c->run_of_block[block] = (uint32_t)(c->n_runs - 1);
    }
    TK_ASSERT(at <= c->n_cells && c->n_runs == n_runs);
    c->n_cells = at;
    return TK_OK;
}

int tk_word_cells_lay_out(tk_word_cells *c, const tk_word_counts *words, const tk_spelling *spelling, uint32_t least,
                          size_t most) {
    size_t n;
    TK_ASSERT(!c->cells && most <= TK_VOID && (spelling->bytes || (spelling->first && spelling->rest)));
    tk_counted_word *sorted = sorted_words(words, least, &n, &c->n_cells);
    if (!sorted) return TK_NO_MEMORY;
    int status = c->n_cells > most ? TK_TOO_LARGE : fill(c, words, spelling, sorted, n);
    free(sorted);
    return status;
}

/* ---- saving ---- */

void tk_word_cells_sizes(const tk_word_cells *c, uint64_t *sizes) {
    sizes[0] = c->n_cells;
    sizes[1] = c->n_runs;
}

void tk_word_cells_arrays(const tk_word_cells *c, tk_state_array *arrays) {
    arrays[0] = (tk_state_array){c->cells, c->n_cells * sizeof *c->cells};
    arrays[1] = (tk_state_array){c->run_ends, c->n_runs * sizeof *c->run_ends};
    arrays[2] = (tk_state_array){c->run_counts, c->n_runs * sizeof *c->run_counts};
}

int tk_word_cells_begin(tk_word_cells *c, const uint64_t *sizes, size_t most) {
    if (sizes[0] < 1 || sizes[0] > most || sizes[1] > sizes[0] || c->cells) return TK_BAD_INPUT;
    c->n_cells = (size_t)sizes[0];
    c->n_runs = (size_t)sizes[1];
    int status = tk_big_block_make(&c->cells_block, c->folder, c->n_cells, sizeof *c->cells);
    if (status) return status;
    c->cells = c->cells_block.data;
    c->run_ends = tk_alloc(c->n_runs, sizeof *c->run_ends);
    c->run_counts = tk_alloc(c->n_runs, sizeof *c->run_counts);
    c->run_of_block = tk_calloc((c->n_cells >> TK_CELL_BLOCK_BITS) + 1, sizeof *c->run_of_block);
    return c->run_ends && c->run_counts && c->run_of_block ? TK_OK : TK_NO_MEMORY;
}

static int check_tokens(const tk_word_cells *c, const uint32_t *widths, size_t n_ids, uint8_t *starts) {
    size_t n = c->n_cells;
    if (c->cells[0] != TK_BORDER || c->cells[n - 1] != TK_BORDER) return TK_BAD_INPUT;
    for (size_t i = 0, width; i < n; i += width) {
        uint32_t id = c->cells[i];
        if (starts) tk_set_bit(starts, i);
        width = 1;
        if (id == TK_BORDER) continue;
        if (id >= n_ids || !(width = widths[id]) || width >= n - i || c->cells[i + width - 1] != id)
            return TK_BAD_INPUT;
        for (size_t k = 1; k + 1 < width; k++)
            if (c->cells[i + k] != TK_VOID) return TK_BAD_INPUT;
    }
    return TK_OK;
}

int tk_word_cells_check(tk_word_cells *c, const uint32_t *widths, size_t n_ids, uint8_t *starts) {
    if (check_tokens(c, widths, n_ids, starts)) return TK_BAD_INPUT;
    size_t block = 0, before = 1;
    double total = 0;
    for (size_t run = 0; run < c->n_runs; run++) {
        size_t end = c->run_ends[run];
        if (end <= before || end > c->n_cells || c->run_counts[run] < 1 || c->cells[end - 1] != TK_BORDER)
            return TK_BAD_INPUT;
        total += (double)c->run_counts[run] * (double)(end - before);
        if (total > 0x1p62) return TK_BAD_INPUT; /* sums of counts fit 64 bits */
        before = end;
        for (; block << TK_CELL_BLOCK_BITS < before; block++) c->run_of_block[block] = (uint32_t)run;
    }
    return before == c->n_cells ? TK_OK : TK_BAD_INPUT;
}
