/* Fuzzes a vocabulary and bytes: checks that the heap and the longest match that is proved merge them as the
   definition does, and a pair is valid where merging its bytes gives it. */
#include "encode/bpe_backtrack.h"
#include "fuzz_bpe.h"

enum { MOST = 700, ROUNDS = 12, PAIRS = 16 };

static size_t ids_of(const tk_bpe *m, const uint32_t *symbols, size_t n, uint32_t *ids) {
    size_t count = 0;
    for (size_t k = 0; k < n; k++)
        if (m->id[symbols[k]] != TK_NONE) ids[count++] = m->id[symbols[k]];
    return count;
}

static int same(const uint32_t *a, size_t n, const uint32_t *b, size_t m) {
    return n == m && (!n || !memcmp(a, b, n * sizeof *a));
}

/* Tokens that merging makes, and some bytes: of each two of them. */
static void check_pairs(const fz_bpe *b) {
    const tk_bpe *m = &b->model;
    uint32_t tokens[PAIRS], n = 0;
    for (int k = 0; k < 4; k++) tokens[n++] = FZ_BPE_BYTES[k];
    for (uint32_t t = 256; t < m->n && n < PAIRS; t++)
        if (m->left[t] != TK_NONE) tokens[n++] = t;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++) {
            uint32_t left = tokens[i], right = tokens[j], ids[2 * FZ_LONGEST];
            uint8_t bytes[2 * FZ_LONGEST];
            if (m->id[left] == TK_NONE || m->id[right] == TK_NONE) continue;
            memcpy(bytes, m->bytes[left], m->length[left]);
            memcpy(bytes + m->length[left], m->bytes[right], m->length[right]);
            size_t count = fz_naive_merge(b, bytes, m->length[left] + m->length[right], ids);
            int valid = count == 2 && ids[0] == m->id[left] && ids[1] == m->id[right];
            CHECK(tk_valid_pair(m, left, right) == valid);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    static fz_bpe b;
    fz_bpe_make(&f, &b, 1);
    int with_pairs = fz_byte(&f) & 1, wide = fz_byte(&f) & 1;
    tk_merger merger = {0};
    fz_text text = wide ? fz_spell(&f, FZ_BPE_ALPHABET, FZ_N_BPE_ALPHABET, MOST) : fz_copy(f.p, 0);
    if (!wide) { /* bytes that need not be UTF-8 */
        free(text.p);
        text = fz_copy(f.p, (size_t)(f.end - f.p) < MOST ? (size_t)(f.end - f.p) : MOST);
        for (size_t k = 0; k < text.n; k++) text.p[k] = FZ_BPE_BYTES[text.p[k] % FZ_BPE_N_BYTES];
    }
    uint32_t *wanted = malloc((text.n + 1) * sizeof *wanted), *ids = malloc((text.n + 1) * sizeof *ids), *symbols;
    size_t n_wanted = fz_naive_merge(&b, text.p, text.n, wanted), n;
    if (text.n) {
        CHECK(tk_merge(&b.model, &merger, text.p, text.n, &symbols, &n) == TK_OK);
        CHECK(same(ids, ids_of(&b.model, symbols, n, ids), wanted, n_wanted));
    }
    for (int k = 0; k < ROUNDS && text.n && b.model.monotone; k++) { /* tries are made once they are asked for */
        n = 0;
        CHECK(tk_backtrack(&b.model, &merger, text.p, text.n, &symbols, &n) == TK_OK);
        if (n) CHECK(same(ids, ids_of(&b.model, symbols, n, ids), wanted, n_wanted));
    }
    if (with_pairs && b.model.monotone) check_pairs(&b);
    free(wanted);
    free(ids);
    free(text.p);
    tk_merger_free(&merger);
    fz_bpe_free(&b);
    return 0;
}
