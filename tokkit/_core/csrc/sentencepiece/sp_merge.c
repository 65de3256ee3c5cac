/* BPE of the buffer, as in sentencepiece: see sp_engine.h.

   The pair whose piece has the greatest score merges first, of equal ones the leftmost (encode/char_merge.h). User-
   defined pieces stay as they are, the longest if several begin at a position; nothing merges with them. */
#include "sentencepiece/sp_lattice.h"

/* What is read of the buffer: a character, or a user-defined piece, which merges with nothing. */
typedef struct {
    uint32_t token, start, end;
    int frozen;
} symbol;

static size_t read_symbols(const tk_sp *m, const uint8_t *p, size_t n, symbol *symbols) {
    size_t count = 0;
    for (size_t at = 0, end; at < n; at = end) {
        uint32_t id = TK_NO_ID;
        size_t frozen = tk_sp_frozen(m, p + at, n - at, &id);
        end = at + frozen;
        if (!frozen) {
            end = at + tk_sp_length(p[at], n - at);
            id = tk_trie_find(&m->trie, p + at, end - at);
        }
        symbols[count++] = (symbol){id, (uint32_t)at, (uint32_t)end, frozen > 0};
    }
    return count;
}

TK_INLINE uint32_t merging(const symbol *s) { return s->frozen ? TK_NO_ID : s->token; }

int tk_sp_last_merge(const tk_sp *m, const uint8_t *p, size_t n, uint32_t *left, uint32_t *right) {
    symbol symbols[4 * TK_FEW_SYMBOLS];
    if (n > 4 * TK_FEW_SYMBOLS) return 0;
    size_t count = read_symbols(m, p, n, symbols);
    if (count > TK_FEW_SYMBOLS) return 0;
    for (*left = *right = TK_NO_ID; count > 1;) {
        const tk_ranked_pair *least = NULL;
        size_t k = 0;
        for (size_t i = 0; i + 1 < count; i++) {
            const tk_ranked_pair *pair = tk_char_pair(&m->pairs, merging(symbols + i), merging(symbols + i + 1));
            if (!pair || (least && pair->rank >= least->rank)) continue;
            least = pair;
            k = i;
        }
        if (!least) return 1;
        if (count == 2) *left = symbols[0].token, *right = symbols[1].token;
        symbols[k].token = least->result;
        count--;
        for (size_t i = k + 1; i < count; i++) symbols[i] = symbols[i + 1];
    }
    return 1;
}

/* ---- tokens */

TK_INLINE int add_merged(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, uint32_t id, size_t start, size_t end) {
    return id < m->n_ids ? tk_sp_add(w, id, start, end) : tk_sp_add_unknown(m, w, p, start, end);
}

/* A piece that is unused, as the two that it was made of last, and so on. What waits lies in the heap's memory. */
static int add_split(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, uint32_t id, size_t at) {
    tk_merge_scratch *s = &w->merge;
    size_t n = 0;
    int status = tk_reserve(&s->heap, &s->heap_capacity, 1, sizeof *s->heap);
    if (status == TK_OK) s->heap[n++] = id;
    while (n && status == TK_OK) {
        id = (uint32_t)s->heap[--n];
        if (m->unused[id] && w->parts[2 * (size_t)id] != TK_NO_ID) {
            status = tk_reserve(&s->heap, &s->heap_capacity, n + 2, sizeof *s->heap);
            if (status != TK_OK) break;
            s->heap[n++] = w->parts[2 * (size_t)id + 1];
            s->heap[n++] = w->parts[2 * (size_t)id];
            continue;
        }
        size_t end = at + m->lengths[id];
        status = add_merged(m, w, p, id, at, end);
        at = end;
    }
    return status;
}

/* ---- few symbols */

/* n bytes, TK_FEW_SYMBOLS at most, that are ASCII in which no user-defined piece begins: their ids and pairs stand in
   tables. Returns 0 where they are not that. */
static int read_ascii(const tk_sp *m, const uint8_t *p, size_t n, tk_few *few) {
    const tk_sp_ascii *ascii = m->plain_ascii;
    for (size_t i = 0; i < n; i++) {
        if (p[i] >= TK_SP_ASCII || !ascii->alone[p[i]]) return 0;
        few->at[i] = (uint32_t)i;
        few->ids[i] = ascii->ids[p[i]];
    }
    for (size_t i = 0; i + 1 < n; i++) {
        few->ranks[i] = ascii->ranks[p[i]][p[i + 1]];
        few->results[i] = ascii->results[p[i]][p[i + 1]];
    }
    return 1;
}

static int merge_few(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, tk_few *few, size_t count,
                     const symbol *symbols) {
    const size_t n = tk_merge_few(&m->last_pairs, few, count);
    int status = tk_reserve(&w->tokens, &w->tokens_capacity, n, sizeof *w->tokens);
    for (size_t i = 0; i < n && status == TK_OK; i++) {
        uint32_t id = few->ids[i], start = few->at[i], end = i + 1 < n ? few->at[i + 1] : (uint32_t)count;
        if (symbols) {
            if (id == TK_NO_ID) id = symbols[start].token;
            start = symbols[start].start, end = symbols[end - 1].end;
        }
        if (TK_LIKELY(id < m->n_ids && w->n_tokens < w->tokens_capacity))
            w->tokens[w->n_tokens++] = (tk_sp_token){id, start, end};
        else status = add_merged(m, w, p, id, start, end);
    }
    return status;
}

int tk_sp_set_ascii(tk_sp *m) {
    tk_sp_ascii *ascii = m->plain_ascii = tk_calloc(1, sizeof *ascii);
    if (!ascii) return TK_NO_MEMORY;
    for (unsigned c = 0; c < TK_SP_ASCII; c++) {
        uint8_t byte = (uint8_t)c;
        ascii->alone[c] = !m->frozen.root || !tk_trie_step(&m->frozen, m->frozen.root, byte);
        ascii->ids[c] = tk_trie_find(&m->trie, &byte, 1);
    }
    for (unsigned c = 0; c < TK_SP_ASCII; c++)
        for (unsigned d = 0; d < TK_SP_ASCII; d++) {
            const tk_ranked_pair *pair = tk_char_pair(&m->last_pairs, ascii->ids[c], ascii->ids[d]);
            ascii->ranks[c][d] = pair ? pair->rank : TK_NO_RANK;
            ascii->results[c][d] = pair ? pair->result : 0;
        }
    return TK_OK;
}

/* ---- many */

static int merge_many(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, size_t count, double dropout,
                      uint64_t *random) {
    const symbol *symbols = w->symbols;
    tk_merge_options options = {NULL, dropout, random, NULL};
    int status = tk_merge_reserve(&w->merge, count, &options);
    if (m->unused && status == TK_OK) {
        status = tk_reserve(&w->parts, &w->parts_capacity, 2 * m->n_symbols, sizeof *w->parts);
        if (status == TK_OK) memset(w->parts, 0xFF, 2 * m->n_symbols * sizeof *w->parts);
        options.last_made = w->parts;
    }
    if (status != TK_OK) return status;
    tk_merge_link *links = w->merge.links;
    for (uint32_t i = 0; i < count; i++) links[i].id = merging(symbols + i), links[i].next = i + 1;
    if (dropout < 1) tk_merge_many(dropout > 0 || m->unused ? &m->pairs : &m->last_pairs, &w->merge, count, &options);
    for (size_t i = 0, next; i < count && status == TK_OK; i = next) {
        next = links[i].next;
        uint32_t id = links[i].id != TK_NO_ID ? links[i].id : symbols[i].token;
        if (m->unused && id != TK_NO_ID && m->unused[id]) status = add_split(m, w, p, id, symbols[i].start);
        else status = add_merged(m, w, p, id, symbols[i].start, symbols[next - 1].end);
    }
    return status;
}

int tk_sp_merge(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, size_t n, double dropout, uint64_t *random) {
    int last_alone = !m->unused && dropout <= 0;
    tk_few few;
    w->n_tokens = 0;
    if (n >= UINT32_MAX) return TK_TOO_LARGE;
    if (n <= TK_FEW_SYMBOLS && last_alone && read_ascii(m, p, n, &few)) return merge_few(m, w, p, &few, n, NULL);
    int status = tk_reserve(&w->symbols, &w->symbols_capacity, n, sizeof(symbol));
    if (status != TK_OK || !n) return status;
    const symbol *symbols = w->symbols;
    size_t count = read_symbols(m, p, n, w->symbols);
    if (count > TK_FEW_SYMBOLS || !last_alone) return merge_many(m, w, p, count, dropout, random);
    for (size_t i = 0; i < count; i++) few.at[i] = (uint32_t)i, few.ids[i] = merging(symbols + i);
    for (size_t i = 0; i + 1 < count; i++) tk_few_look(&m->last_pairs, &few, i);
    return merge_few(m, w, p, &few, count, symbols);
}
