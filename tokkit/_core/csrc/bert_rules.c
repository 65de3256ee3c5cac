/* A code point in, what BERT's normalizer, its pretokenizer and the model make of it alone out: see bert.h. */
#include "bert.h"
#include "char_kinds.h"
#include "normalize.h"

static uint32_t entry(unsigned kind, size_t count, size_t place) {
    return kind | (uint32_t)(count | place << TK_BERT_LENGTH_BITS) << TK_BERT_KIND_BITS;
}

/* How many characters n bytes have, and how many of them are white space and punctuation. */
typedef struct {
    size_t all, white, marks;
} kind_counts;

static kind_counts count_kinds(const uint8_t *bytes, size_t n) {
    kind_counts counts = {0, 0, 0};
    unsigned length;
    for (size_t i = 0; i < n; i += length, counts.all++) {
        unsigned kinds = tk_kinds_at(bytes + i, &length);
        if (kinds & TK_WHITE) counts.white++;
        else if (kinds & TK_PUNCTUATION) counts.marks++;
    }
    return counts;
}

/* The entry of a piece that is all its own. */
static uint32_t one(const tk_bert *m, tk_model_worker *scratch, const uint8_t *bytes, size_t n) {
    scratch->n_subs = 0;
    if (m->model->encode(m->model, scratch, bytes, n) != TK_OK || scratch->n_subs != 1) return TK_BERT_STRANGE;
    uint32_t id = scratch->subs[0].id;
    return id >> (32 - TK_BERT_KIND_BITS) ? TK_BERT_STRANGE : TK_BERT_ONE | id << TK_BERT_KIND_BITS;
}

uint32_t tk_bert_entry_of(const tk_bert *m, tk_model_worker *scratch, uint32_t c, uint8_t *out) {
    uint8_t given[4 + 4] = {0}, made[TK_CHARACTER_MOST + 4] = {0};
    unsigned length = (unsigned)(tk_utf8_put(given, c) - given);
    unsigned n = tk_normalize_bert_character(m->clean, m->chinese, m->strip, m->lower, given, length, made);
    if (n == TK_CHARACTER_ODD) return TK_BERT_STRANGE;
    if (n == 0) return TK_BERT_DROP;
    kind_counts kinds = count_kinds(made, n);
    if (kinds.white == kinds.all) return TK_BERT_WHITE;
    if (n > 2 && kinds.white == 2 && made[0] == ' ' && made[n - 1] == ' ' && (kinds.marks == 0 || kinds.all == 3))
        return one(m, scratch, made + 1, n - 2);
    if (kinds.white) return TK_BERT_STRANGE;
    if (kinds.marks) return kinds.all == 1 ? one(m, scratch, made, n) : TK_BERT_STRANGE;
    if (n == length && memcmp(given, made, n) == 0) return TK_BERT_KEEP;
    if (n >> TK_BERT_LENGTH_BITS) return TK_BERT_STRANGE;
    memcpy(out, made, n);
    return entry(TK_BERT_WORD, n, 0);
}

int tk_bert_build(tk_bert *m, const tk_model *model, int clean, int chinese, int strip, int lower) {
    uint8_t made[TK_CHARACTER_MOST];
    tk_model_worker scratch;
    memset(m, 0, sizeof *m);
    m->model = model;
    m->clean = clean != 0, m->chinese = chinese != 0, m->strip = strip != 0, m->lower = lower != 0;
    m->table = tk_alloc(TK_BERT_TABLE, sizeof *m->table);
    if (!m->table) return TK_NO_MEMORY;
    int status = tk_model_worker_init(&scratch, 0);
    for (uint32_t c = 0; c < TK_BERT_TABLE && status == TK_OK; c++) {
        m->table[c] = c - 0xD800 < 0x800 ? TK_BERT_STRANGE : tk_bert_entry_of(m, &scratch, c, made);
        if ((m->table[c] & ((1u << TK_BERT_KIND_BITS) - 1)) != TK_BERT_WORD) continue;
        size_t n = m->table[c] >> TK_BERT_KIND_BITS;
        status = tk_reserve(&m->pool, &m->pool_capacity, m->n_pool + n, 1);
        if (status != TK_OK) break;
        memcpy(m->pool + m->n_pool, made, n);
        m->table[c] = entry(TK_BERT_WORD, n, m->n_pool);
        m->n_pool += n;
    }
    tk_model_worker_free(&scratch);
    return status;
}

void tk_bert_free(tk_bert *m) {
    free(m->table);
    free(m->pool);
    memset(m, 0, sizeof *m);
}
