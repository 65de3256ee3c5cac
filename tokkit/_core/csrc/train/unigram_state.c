/* Saves and checks the arrays of a Unigram training: see unigram_train.h. */
#include "train/unigram_train.h"

enum { CODES, SYMBOLS, UNITS, EDGES, PIECES, DEPTH };

void tk_unigram_state_sizes(const tk_unigram_trainer *t, uint64_t *sizes) {
    sizes[CODES] = t->n_codes;
    sizes[SYMBOLS] = t->text.n;
    sizes[UNITS] = t->n_units;
    sizes[EDGES] = t->n_edges;
    sizes[PIECES] = t->n_pieces;
    sizes[DEPTH] = t->text.depth;
}

void tk_unigram_state_arrays(const tk_unigram_trainer *t, tk_state_array *arrays) {
    const tk_state_array all[TK_UNIGRAM_ARRAYS] = {
        {t->codes, t->n_codes * sizeof *t->codes},
        {t->big[TK_U_SYMBOLS].data, t->text.n * sizeof *t->text.symbols},
        {t->starts, (t->n_units + 1) * sizeof *t->starts},
        {t->counts, t->n_units * sizeof *t->counts},
        {t->first, (t->text.n + 1) * sizeof *t->first},
        {t->edges, t->n_edges * sizeof *t->edges},
        {t->lengths, t->n_edges * sizeof *t->lengths},
        {t->at, t->n_pieces * sizeof *t->at},
        {t->widths, t->n_pieces * sizeof *t->widths},
        {t->occurrences, t->n_pieces * sizeof *t->occurrences},
        {t->probabilities, t->n_pieces * sizeof *t->probabilities},
    };
    memcpy(arrays, all, sizeof all);
}

int tk_unigram_state_begin(tk_unigram_trainer *t, const uint64_t *sizes) {
    if (sizes[CODES] >= sizes[SYMBOLS] || sizes[CODES] > 0x110000 || sizes[SYMBOLS] >= UINT32_MAX || !sizes[UNITS] ||
        sizes[UNITS] > sizes[SYMBOLS] / 2 || sizes[EDGES] >= UINT32_MAX || sizes[PIECES] >= UINT32_MAX ||
        sizes[PIECES] < sizes[CODES] || !sizes[DEPTH] || sizes[DEPTH] > TK_LONGEST_PIECE || t->codes)
        return TK_BAD_INPUT;
    t->n_codes = (size_t)sizes[CODES];
    t->text.n = (size_t)sizes[SYMBOLS];
    t->text.depth = (uint32_t)sizes[DEPTH];
    t->n_units = (size_t)sizes[UNITS];
    t->n_edges = (size_t)sizes[EDGES];
    t->codes = tk_alloc(t->n_codes, sizeof *t->codes);
    int status = t->codes ? TK_OK : TK_NO_MEMORY;
    if (!status) status = tk_unigram_text_room(t);
    if (!status) status = tk_unigram_first_room(t);
    if (!status) status = tk_unigram_edge_room(t);
    return status ? status : tk_unigram_piece_room(t, (size_t)sizes[PIECES]);
}

/* Whether code points rise, and are characters; symbols are theirs, and close each unit; and counts sum up. */
static int is_text(const tk_unigram_trainer *t) {
    double total = 0;
    for (size_t i = 0; i < t->n_codes; i++)
        if ((i && t->codes[i] <= t->codes[i - 1]) || t->codes[i] > 0x10FFFF || (t->codes[i] >> 11) == 0x1B) return 0;
    if (t->starts[0] != 0 || t->starts[t->n_units] != t->text.n) return 0;
    for (size_t u = 0; u < t->n_units; u++) {
        size_t from = t->starts[u], end = t->starts[u + 1];
        if (end > t->text.n || end < from + 2 || t->counts[u] < 1 || t->text.symbols[end - 1] != 0) return 0;
        for (size_t i = from; i + 1 < end; i++)
            if (t->text.symbols[i] < 1 || t->text.symbols[i] > t->n_codes) return 0;
        total += (double)(end - from) * (double)t->counts[u];
        if (total > 0x1p62) return 0;
    }
    return 1;
}

/* Whether each piece stands where it says, in one unit, and has a probability. */
static int are_pieces(const tk_unigram_trainer *t) {
    for (size_t i = 0; i < t->n_pieces; i++) {
        size_t at = t->at[i], n = t->widths[i];
        if (n < 1 || n > t->text.depth || at >= t->text.n || n > t->text.n - at || t->occurrences[i] < 1) return 0;
        for (size_t k = 0; k < n; k++)
            if (!t->text.symbols[at + k]) return 0;
        if (!(t->probabilities[i] > 0 && t->probabilities[i] <= 1)) return 0;
    }
    return 1;
}

/* Whether edges are in the order of where they start, none leaves its unit, and each symbol has one of its own. */
static int are_edges(const tk_unigram_trainer *t) {
    if (t->first[0] != 0 || t->first[t->text.n] != t->n_edges) return 0;
    for (size_t u = 0; u < t->n_units; u++) {
        size_t end = t->starts[u + 1] - 1;
        for (size_t i = t->starts[u]; i <= end; i++) {
            if (t->first[i + 1] < t->first[i] || t->first[i + 1] > t->n_edges) return 0;
            if (i < end && (t->first[i + 1] == t->first[i] || t->lengths[t->first[i]] != 1)) return 0;
            for (uint32_t k = t->first[i]; k < t->first[i + 1]; k++)
                if (t->edges[k] >= t->n_pieces || t->lengths[k] != t->widths[t->edges[k]] || t->lengths[k] > end - i)
                    return 0;
        }
    }
    return 1;
}

int tk_unigram_state_end(tk_unigram_trainer *t) {
    if (!is_text(t) || !are_pieces(t) || !are_edges(t)) return TK_BAD_INPUT;
    tk_unigram_set_scales(t);
    return TK_OK;
}
