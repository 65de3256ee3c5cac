/* Makes a small vocabulary of text and a model of the bytes of an input, for the targets of models. */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H
#include "fuzz.h"
#include "encode/model.h"

#define FZ_N_MODEL_ALPHABET 12
static const char *const FZ_MODEL_ALPHABET[FZ_N_MODEL_ALPHABET] = {
    "a", "b", "c", "\xe2\x96\x81", "\xc3\xa9", "\xe6\x9d\xb1", "\xf0\x9f\xa6\x9c", " ", "#", "$", "ab", "aa"};

/* One token of a piece, as the twins give it. */
typedef struct {
    uint32_t id;
    size_t start, end;
} fz_piece;

static inline uint32_t fz_find_or_put(fz_vocab *v, const void *p, size_t n) {
    uint32_t id = fz_find(v, p, n);
    return id != FZ_NONE || v->n == FZ_TOKENS ? id : fz_put(v, p, n);
}

/* The token of a byte, <0x0A>. */
static inline uint32_t fz_byte_token(const fz_vocab *v, uint8_t byte) {
    char token[8];
    snprintf(token, sizeof token, "<0x%02X>", byte);
    return fz_find(v, (const uint8_t *)token, 6);
}

/* Tokens of all bytes, of some, or of none. */
static inline void fz_put_bytes(fz *f, fz_vocab *v) {
    unsigned kind = fz_below(f, 4);
    for (unsigned byte = 0; byte < 256 && kind; byte++) {
        char token[8];
        snprintf(token, sizeof token, "<0x%02X>", byte);
        if (kind == 1 || byte % kind) fz_find_or_put(v, token, 6);
    }
}

/* Characters of the alphabet, with `prefix` and `suffix` or without. */
static inline void fz_put_characters(fz *f, fz_vocab *v, const char *prefix, const char *suffix) {
    for (int k = 0; k < FZ_N_MODEL_ALPHABET; k++) {
        unsigned which = fz_byte(f);
        for (int form = 0; form < 4; form++) {
            char token[32];
            const char *before = form & 1 ? prefix : "", *behind = form & 2 ? suffix : "";
            if (!(which >> form & 1)) continue;
            snprintf(token, sizeof token, "%s%s%s", before, FZ_MODEL_ALPHABET[k], behind);
            fz_find_or_put(v, token, strlen(token));
        }
    }
}

/* Longer tokens, of two that are there; the second without its prefix. */
static inline void fz_put_joined(fz *f, fz_vocab *v, size_t prefix, unsigned most) {
    uint32_t first = v->n > 256 ? 256 : 0; /* bytes are there first, if they are, and seldom joined */
    for (unsigned k = fz_below(f, most); k > 0 && v->n > first; k--) {
        unsigned a = fz_byte(f), b = fz_byte(f), bytes = a >= 0xF8 ? 0 : first;
        fz_join(v, bytes + a % (v->n - bytes), first + b % (v->n - first), prefix);
    }
}

/* The tokens of one piece, the length of what the twin has at `wanted`; SIZE_MAX for a character that is unknown. */
static inline void fz_check_piece(const tk_model *m, int drops, const fz_text *text, const fz_piece *wanted, size_t n) {
    tk_model_worker w = {.drops = drops, .random = 7};
    for (int pass = 0; pass < 2; pass++) {
        w.n_subs = 0;
        int status = text->n ? m->encode(m, &w, text->p, text->n) : TK_OK;
        CHECK(status == (n == SIZE_MAX ? TK_UNENCODABLE : TK_OK));
        for (size_t k = 0; k < w.n_subs && n != SIZE_MAX; k++) {
            CHECK(w.n_subs == n && w.subs[k].id == wanted[k].id);
            CHECK(w.subs[k].start == wanted[k].start && w.subs[k].end == wanted[k].end);
        }
        CHECK(n == SIZE_MAX || w.n_subs == n);
        tk_model_worker_shrink(&w, 64);
    }
    tk_model_worker_free(&w);
}

/* The same by way of a text of one piece; `whole` is the piece's id where that is a token and stands for itself. */
static inline void fz_check_text(const tk_model *m, int drops, const fz_text *text, const fz_piece *wanted, size_t n,
                                 uint32_t whole) {
    tk_model_worker w = {.drops = drops, .random = 7};
    tk_aligned a;
    if (whole != FZ_NONE) n = 1;
    CHECK(tk_aligned_init(&a, text->p, text->n) == TK_OK);
    int status = tk_model_encode(m, &w, &a);
    CHECK(status == (n == SIZE_MAX ? TK_UNENCODABLE : TK_OK));
    CHECK(n == SIZE_MAX || w.n == n);
    for (size_t k = 0; k < w.n && n != SIZE_MAX; k++) {
        CHECK(w.ids[k] == (whole != FZ_NONE ? whole : wanted[k].id) && w.words[k] == 0);
        CHECK(w.spans[2 * k] >= 0 && w.spans[2 * k] <= w.spans[2 * k + 1] && (size_t)w.spans[2 * k + 1] <= text->n);
    }
    tk_aligned_free(&a);
    tk_model_worker_free(&w);
}

#endif
