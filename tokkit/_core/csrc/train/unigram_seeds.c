/* Finds the seed pieces (frequent substrings) of all units and their edges, for unigram_train.c. */
#include "train/unigram_train.h"

#include "text/utf8.h"

enum { N_CODE_POINTS = 0x110000, MOST_SCALE = 40, LOG_BITS = 7 };

void tk_unigram_trainer_free(tk_unigram_trainer *t) {
    for (size_t i = 0; i < TK_U_BIG; i++) tk_big_block_free(&t->big[i]);
    void *blocks[] = {t->codes, t->at, t->widths, t->occurrences, t->probabilities, t->logs};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) free(blocks[i]);
    memset(t, 0, sizeof *t);
}

/* Number the characters of the units by code point; `numbers` has N_CODE_POINTS zeros. */
static int number_symbols(tk_unigram_trainer *t, const tk_word_counts *units, uint32_t *numbers) {
    size_t total = 0;
    unsigned length;
    for (size_t k = 0; k < units->n_bytes; k += length, total++) numbers[tk_utf8_decode(units->bytes + k, &length)] = 1;
    if (total + units->n_words >= UINT32_MAX) return TK_TOO_LARGE;
    t->text.n = total + units->n_words;
    for (uint32_t c = 0; c < N_CODE_POINTS; c++) t->n_codes += numbers[c];
    t->codes = tk_alloc(t->n_codes, sizeof *t->codes);
    if (!t->codes) return TK_NO_MEMORY;
    uint32_t n = 0;
    for (uint32_t c = 0; c < N_CODE_POINTS; c++)
        if (numbers[c]) t->codes[n++] = c, numbers[c] = n;
    for (t->text.bits = 1; t->n_codes >> t->text.bits; t->text.bits++) {}
    return TK_OK;
}

int tk_unigram_text_room(tk_unigram_trainer *t) {
    int status = tk_big_block_make(&t->big[TK_U_SYMBOLS], t->folder, t->text.n, sizeof *t->text.symbols);
    if (!status) status = tk_big_block_make(&t->big[TK_U_STARTS], t->folder, t->n_units + 1, sizeof *t->starts);
    if (!status) status = tk_big_block_make(&t->big[TK_U_COUNTS], t->folder, t->n_units, sizeof *t->counts);
    t->text.symbols = t->big[TK_U_SYMBOLS].data;
    t->starts = t->big[TK_U_STARTS].data;
    t->counts = t->big[TK_U_COUNTS].data;
    return status;
}

void tk_unigram_set_scales(tk_unigram_trainer *t) {
    double characters = 0;
    t->longest = 0;
    for (size_t u = 0; u < t->n_units; u++) {
        size_t n = t->starts[u + 1] - t->starts[u] - 1;
        if (n > t->longest) t->longest = n;
        characters += (double)n * (double)t->counts[u];
    }
    for (t->scale = MOST_SCALE; t->scale > 0 && characters * (double)(INT64_C(1) << t->scale) > 0x1p62; t->scale--) {}
    t->log_scale = t->scale > LOG_BITS ? t->scale - LOG_BITS : 0; /* a character costs less than 2^7 nats */
}

int tk_unigram_trainer_units(tk_unigram_trainer *t, const tk_word_counts *units, uint32_t depth) {
    TK_ASSERT(!t->codes && depth && depth <= TK_LONGEST_PIECE);
    uint32_t *numbers = tk_calloc(N_CODE_POINTS, sizeof *numbers);
    int status = numbers ? number_symbols(t, units, numbers) : TK_NO_MEMORY;
    t->text.depth = depth;
    t->n_units = units->n_words;
    if (!status) status = tk_unigram_text_room(t);
    uint32_t *symbols = t->big[TK_U_SYMBOLS].data;
    size_t at = 0;
    for (size_t u = 0; u < t->n_units && !status; u++) {
        const uint8_t *p = units->bytes + units->words[u].offset, *end = p + units->words[u].length;
        unsigned length;
        t->starts[u] = (uint32_t)at;
        t->counts[u] = units->words[u].count;
        for (; p < end; p += length) symbols[at++] = numbers[tk_utf8_decode(p, &length)];
        symbols[at++] = 0;
        TK_ASSERT(at <= t->text.n && t->counts[u] >= 0);
    }
    free(numbers);
    if (status) return status;
    t->starts[t->n_units] = (uint32_t)at;
    tk_unigram_set_scales(t);
    return TK_OK;
}

/* ---- substrings: the intervals of suffixes that share them ---- */

typedef struct {
    uint32_t from, behind; /* in the order of suffixes */
    uint32_t depth;
    int64_t count;
} interval;

typedef struct {
    const char *folder;
    tk_big_block block;
    interval *found;
    size_t n, capacity;
} intervals;

typedef struct {
    tk_big_block order_block, before_block;
    uint32_t *order; /* suffixes */
    int64_t *before; /* how often all suffixes before one occur */
    size_t n;
} sorted_suffixes;

static int interval_room(intervals *v, size_t n) {
    int status = tk_big_block_reserve(&v->block, v->folder, &v->capacity, n, sizeof *v->found);
    v->found = v->block.data;
    return status;
}

/* Note an interval whose substring may be a piece. */
static int note(const tk_unigram_trainer *t, const tk_piece_kinds *kinds, const sorted_suffixes *s, interval v,
                intervals *out) {
    uint32_t characters[TK_LONGEST_PIECE];
    TK_ASSERT(v.from < v.behind && v.behind <= s->n && v.depth <= TK_LONGEST_PIECE);
    v.count = s->before[v.behind] - s->before[v.from];
    if (v.depth < 2 || v.count < 2) return TK_OK;
    if (!kinds) {
        uint32_t after_first = t->text.symbols[s->order[v.from] + v.depth];
        if (v.depth >= t->text.depth || after_first == t->text.symbols[s->order[v.behind - 1] + v.depth]) return TK_OK;
    }
    for (uint32_t k = 0; k < v.depth && kinds; k++)
        characters[k] = t->codes[t->text.symbols[s->order[v.from] + k] - 1];
    if (kinds && !tk_piece_is_valid(kinds, characters, v.depth)) return TK_OK;
    int status = interval_room(out, out->n + 1);
    if (!status) out->found[out->n++] = v;
    return status;
}

/* Find the substrings that end where suffixes part or a unit ends. */
static int find(const tk_unigram_trainer *t, const tk_piece_kinds *kinds, const sorted_suffixes *s, intervals *out) {
    interval *open = tk_alloc((size_t)t->text.depth + 2, sizeof *open); /* of rising depth */
    size_t n_open = 1;
    int status = open ? TK_OK : TK_NO_MEMORY;
    if (open) open[0] = (interval){0, 0, 0, 0};
    for (size_t i = 0; i <= s->n && !status; i++) {
        uint32_t shared = i && i < s->n ? tk_common_prefix(&t->text, s->order[i - 1], s->order[i]) : 0;
        uint32_t whole = 0, from = (uint32_t)i;
        while (open[n_open - 1].depth > shared && !status) {
            interval v = open[--n_open];
            v.behind = (uint32_t)i;
            from = v.from;
            status = note(t, kinds, s, v, out);
        }
        if (i == s->n) break;
        TK_ASSERT(n_open && n_open <= (size_t)t->text.depth + 1);
        if (open[n_open - 1].depth < shared) open[n_open++] = (interval){from, 0, shared, 0};
        while (whole < t->text.depth && t->text.symbols[s->order[i] + whole]) whole++;
        if (open[n_open - 1].depth < whole) open[n_open++] = (interval){(uint32_t)i, 0, whole, 0};
    }
    free(open);
    return status;
}

/* The greater count · symbols first, of equals the shorter, then the one that comes first. */
static int better(const void *a, const void *b) {
    const interval *x = a, *y = b;
    double p = (double)x->count * x->depth, q = (double)y->count * y->depth;
    if (p != q) return p < q ? 1 : -1;
    if (x->depth != y->depth) return x->depth < y->depth ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

/* The greater count · symbols first, of equals the one that comes last. */
static int better_or_later(const void *a, const void *b) {
    const interval *x = a, *y = b;
    double p = (double)x->count * x->depth, q = (double)y->count * y->depth;
    if (p != q) return p < q ? 1 : -1;
    if (x->from != y->from) return x->from < y->from ? 1 : -1;
    return (x->depth < y->depth) - (x->depth > y->depth);
}

static int shorter(const void *a, const void *b) {
    const interval *x = a, *y = b;
    if (x->depth != y->depth) return x->depth < y->depth ? -1 : 1;
    return (x->from > y->from) - (x->from < y->from);
}

/* ---- pieces and edges ---- */

/* Add the intervals of the symbols themselves; `out` is sorted by depth then. */
static int with_symbols(const tk_unigram_trainer *t, const sorted_suffixes *s, intervals *out) {
    int status = interval_room(out, out->n + t->n_codes);
    if (status) return status;
    for (size_t i = 0, end; i < s->n; i = end) {
        uint32_t symbol = t->text.symbols[s->order[i]];
        for (end = i + 1; end < s->n && t->text.symbols[s->order[end]] == symbol; end++) {}
        interval v = {(uint32_t)i, (uint32_t)end, 1, s->before[end] - s->before[i]};
        out->found[out->n++] = v;
    }
    qsort(out->found, out->n, sizeof *out->found, shorter);
    return TK_OK;
}

int tk_unigram_piece_room(tk_unigram_trainer *t, size_t n) {
    t->n_pieces = n;
    t->at = tk_alloc(n, sizeof *t->at);
    t->widths = tk_alloc(n, sizeof *t->widths);
    t->occurrences = tk_alloc(n, sizeof *t->occurrences);
    t->probabilities = tk_calloc(n, sizeof *t->probabilities);
    t->logs = tk_calloc(n, sizeof *t->logs);
    return t->at && t->widths && t->occurrences && t->probabilities && t->logs ? TK_OK : TK_NO_MEMORY;
}

int tk_unigram_edge_room(tk_unigram_trainer *t) {
    int status = tk_big_block_make(&t->big[TK_U_EDGES], t->folder, t->n_edges, sizeof *t->edges);
    if (!status) status = tk_big_block_make(&t->big[TK_U_LENGTHS], t->folder, t->n_edges, sizeof *t->lengths);
    t->edges = t->big[TK_U_EDGES].data;
    t->lengths = t->big[TK_U_LENGTHS].data;
    return status;
}

int tk_unigram_first_room(tk_unigram_trainer *t) {
    int status = tk_big_block_make(&t->big[TK_U_FIRST], t->folder, t->text.n + 1, sizeof *t->first);
    t->first = t->big[TK_U_FIRST].data;
    return status;
}

/* Make a piece of each interval. */
static int make_pieces(tk_unigram_trainer *t, const sorted_suffixes *s, const intervals *v) {
    if (v->n >= UINT32_MAX) return TK_TOO_LARGE;
    if (tk_unigram_piece_room(t, v->n)) return TK_NO_MEMORY;
    for (size_t i = 0; i < v->n; i++) {
        t->at[i] = s->order[v->found[i].from];
        t->widths[i] = (uint16_t)v->found[i].depth;
        t->occurrences[i] = v->found[i].count;
    }
    return TK_OK;
}

/* List the edges by their starts: a suffix is in the interval of each piece that it begins with. */
static int make_edges(tk_unigram_trainer *t, const sorted_suffixes *s, const intervals *v) {
    int status = tk_unigram_first_room(t);
    if (status) return status;
    memset(t->first, 0, (t->text.n + 1) * sizeof *t->first);
    for (size_t i = 0; i < v->n; i++) t->n_edges += v->found[i].behind - v->found[i].from;
    if (t->n_edges >= UINT32_MAX) return TK_TOO_LARGE;
    if ((status = tk_unigram_edge_room(t))) return status;
    for (size_t i = 0; i < v->n; i++)
        for (size_t k = v->found[i].from; k < v->found[i].behind; k++) t->first[s->order[k] + 1]++;
    for (size_t i = 0; i < t->text.n; i++) t->first[i + 1] += t->first[i];
    for (size_t i = 0; i < v->n; i++) {
        for (size_t k = v->found[i].from; k < v->found[i].behind; k++) {
            uint32_t edge = t->first[s->order[k]]++;
            TK_ASSERT(edge < t->n_edges);
            t->edges[edge] = (uint32_t)i;
            t->lengths[edge] = (uint16_t)v->found[i].depth;
        }
    }
    memmove(t->first + 1, t->first, t->text.n * sizeof *t->first); /* starts have become ends */
    t->first[0] = 0;
    return TK_OK;
}

/* Sort the suffixes, and sum up how often they occur, with each unit `once` or as often as it does. */
static int sort(const tk_unigram_trainer *t, int once, sorted_suffixes *s) {
    tk_big_block counts_block = {0};
    int status = tk_suffix_sort(&t->text, t->folder, &s->order_block, &s->n);
    if (!status) status = tk_big_block_make(&counts_block, t->folder, t->text.n, sizeof(int64_t));
    if (!status) status = tk_big_block_make(&s->before_block, t->folder, s->n + 1, sizeof *s->before);
    s->order = s->order_block.data;
    s->before = s->before_block.data;
    if (!status) {
        int64_t *counts = counts_block.data;
        for (size_t u = 0; u < t->n_units; u++)
            for (size_t i = t->starts[u]; i < t->starts[u + 1]; i++) counts[i] = once ? 1 : t->counts[u];
        s->before[0] = 0;
        for (size_t i = 0; i < s->n; i++) s->before[i + 1] = s->before[i] + counts[s->order[i]];
    }
    tk_big_block_free(&counts_block);
    return status;
}

int tk_unigram_trainer_seeds(tk_unigram_trainer *t, const tk_piece_kinds *kinds, size_t most) {
    sorted_suffixes s = {0};
    intervals v = {.folder = t->folder};
    int status = sort(t, !kinds, &s);
    if (!status) status = find(t, kinds, &s, &v);
    if (!status && v.n > most) {
        qsort(v.found, v.n, sizeof *v.found, kinds ? better : better_or_later);
        v.n = most;
    }
    if (!status) status = with_symbols(t, &s, &v);
    if (!status) status = make_pieces(t, &s, &v);
    tk_big_block_free(&s.before_block);
    if (!status) status = make_edges(t, &s, &v);
    tk_big_block_free(&s.order_block);
    tk_big_block_free(&v.block);
    return status;
}
