/* Makes a byte-level BPE model and its naive twin of the bytes of an input, for targets that merge bytes. */
#ifndef FUZZ_BPE_H
#define FUZZ_BPE_H
#include "encode/bpe_model.h"
#include "fuzz.h"

/* Letters, a space, and the bytes of characters: tokens may hold a character in part. */
static const uint8_t FZ_BPE_BYTES[] = {'a', 'b', 'c', ' ', '\'', 's', '1', '.', '\n', 0xC3, 0xA9,
                                       0xE6, 0x9D, 0xB1, 0xE3, 0x81, 0xAE, 0xF0, 0x9F, 0xA6, 0x9C};
enum { FZ_BPE_N_BYTES = sizeof FZ_BPE_BYTES };
#define FZ_N_BPE_ALPHABET 17
static const char *const FZ_BPE_ALPHABET[FZ_N_BPE_ALPHABET] = {
    "a", "b", "c", " ", "'s", "1", ".", "\n", "\xc3\xa9", "\xe6\x9d\xb1", "\xe3\x81\xae", "\xf0\x9f\xa6\x9c",
    "ab", "ba", "aa", "\xe6\x9d\xb1\xe3\x81\xae", " a"};

typedef struct {
    fz_vocab v;
    uint8_t special[FZ_TOKENS];
    int listed;
    uint32_t n_bytes, of_byte[256]; /* tokens of one byte come first */
    tk_bpe model;
} fz_bpe;

static inline void fz_bpe_free(fz_bpe *b) {
    tk_bpe_free(&b->model);
    free(b->v.blob);
}

/* Bytes; then what joins two of those there are, or bytes that nothing need lead to, some of them special. */
static inline void fz_bpe_tokens(fz *f, fz_bpe *b, int drops, int with_strays) {
    fz_vocab *v = &b->v;
    uint32_t pool[FZ_TOKENS], n = 0;
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t one = (uint8_t)byte;
        if (!drops || (memchr(FZ_BPE_BYTES, one, FZ_BPE_N_BYTES) && byte != 'c' && byte != 0x9D)) fz_put(v, &one, 1);
    }
    b->n_bytes = v->n;
    for (unsigned byte = 0; byte < 256; byte++) b->of_byte[byte] = fz_find(v, &(uint8_t){(uint8_t)byte}, 1);
    for (int k = 0; k < FZ_BPE_N_BYTES; k++) {
        pool[n] = fz_find(v, FZ_BPE_BYTES + k, 1);
        n += pool[n] != FZ_NONE;
    }
    for (unsigned k = fz_below(f, 120); k > 0 && n < FZ_TOKENS; k--) {
        unsigned a = fz_byte(f), had = v->n;
        if (with_strays && a >= 0xF0) {
            uint8_t stray[8];
            size_t length = 2 + a % 6;
            for (size_t i = 0; i < length; i++) stray[i] = FZ_BPE_BYTES[fz_below(f, FZ_BPE_N_BYTES)];
            if (fz_find(v, stray, length) != FZ_NONE || v->n == FZ_TOKENS) continue;
            b->special[fz_put(v, stray, length)] = a & 8;
            v->foreign[v->n - 1] = (a & 8) != 0;
            continue;
        }
        fz_join(v, pool[a % n], pool[fz_below(f, n)], 0);
        if (v->n > had) pool[n++] = v->n - 1;
    }
}

/* 1 with a model, which the core must make of such tokens. */
static inline void fz_bpe_make(fz *f, fz_bpe *b, int may_drop) {
    unsigned options = fz_byte(f);
    size_t culprit = 0;
    memset(b, 0, sizeof *b);
    b->listed = options & 1;
    int drops = may_drop && b->listed && options & 2;
    fz_bpe_tokens(f, b, drops, (options & 4) != 0);
    if (options & 8) fz_turn_merges(&b->v);
    tk_vocabulary source = {.blob = b->v.blob, .offsets = b->v.offsets, .n_ids = b->v.n, .special = b->special};
    source.merges = b->listed ? b->v.merges : NULL;
    source.n_merges = b->listed ? b->v.n_merges : 0;
    source.whole_piece = (options & 16) != 0;
    source.drops_unknown = drops;
    CHECK(tk_bpe_build(&b->model, &source, &culprit) == TK_OK);
}

/* ---- the twin: the best pair first, of equals the leftmost; all pairs are looked at again and again */

typedef struct {
    size_t start, end;
    uint32_t id, rank, result; /* with the next one */
} fz_part;

static inline void fz_rank(const fz_bpe *b, const uint8_t *p, fz_part *parts, size_t k, size_t n) {
    const fz_vocab *v = &b->v;
    parts[k].rank = FZ_NONE;
    if (k + 1 >= n) return;
    if (!b->listed) {
        size_t joined = parts[k + 1].end - parts[k].start;
        parts[k].rank = parts[k].result = fz_find_from(v, b->n_bytes, p + parts[k].start, joined);
        return;
    }
    for (uint32_t m = v->n_merges; m-- > 0 && parts[k].rank == FZ_NONE;)
        if (v->merges[3 * m] == parts[k].id && v->merges[3 * m + 1] == parts[k + 1].id)
            parts[k].rank = m, parts[k].result = v->merges[3 * m + 2];
}

/* The ids of n bytes, merged; a byte that is no token has none. */
static inline size_t fz_naive_merge(const fz_bpe *b, const uint8_t *p, size_t n, uint32_t *ids) {
    fz_part *parts = malloc((n + 1) * sizeof *parts);
    size_t count = 0;
    for (size_t k = 0; k < n; k++) parts[k] = (fz_part){k, k + 1, b->of_byte[p[k]], 0, 0};
    for (size_t k = 0; k < n; k++) fz_rank(b, p, parts, k, n);
    while (n > 1) {
        size_t best = 0;
        for (size_t k = 1; k + 1 < n; k++)
            if (parts[k].rank < parts[best].rank) best = k;
        if (parts[best].rank == FZ_NONE) break;
        parts[best].end = parts[best + 1].end;
        parts[best].id = parts[best].result;
        n--;
        memmove(parts + best + 1, parts + best + 2, (n - best - 1) * sizeof *parts);
        fz_rank(b, p, parts, best, n);
        if (best) fz_rank(b, p, parts, best - 1, n);
    }
    for (size_t k = 0; k < n; k++)
        if (parts[k].id != FZ_NONE) ids[count++] = parts[k].id;
    free(parts);
    return count;
}

/* The same of a piece, which may be a token as a whole. */
static inline size_t fz_naive_piece(const fz_bpe *b, const uint8_t *p, size_t n, uint32_t *ids) {
    uint32_t id = b->model.whole_piece && n ? fz_find(&b->v, p, n) : FZ_NONE;
    return id != FZ_NONE ? (*ids = id, 1) : fz_naive_merge(b, p, n, ids);
}

#endif
