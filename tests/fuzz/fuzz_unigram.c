/* Fuzzes tokens with scores and a piece: checks that Unigram gives the way of the greatest score, as weighing all ways
   to every place does. */
#include "fuzz_model.h"

enum { MOST = 300 };

typedef struct {
    fz_vocab v;
    double scores[FZ_TOKENS], unknown_score;
    uint32_t unknown;
    int byte_fallback;
} twin;

typedef struct {
    double score;
    size_t start;
    uint32_t id;
} node;

/* Of equals the one whose last token begins first; 0 where an unknown token is needed and there is none. */
static int weigh(const twin *t, const fz_text *text, node *best) {
    best[0] = (node){0, 0, FZ_NONE};
    for (size_t end = 1; end <= text->n; end++) {
        int any = 0;
        if (end < text->n && tk_is_continuation(text->p[end])) continue;
        for (size_t start = end > FZ_LONGEST ? end - FZ_LONGEST : 0; start < end; start++) {
            if (tk_is_continuation(text->p[start])) continue;
            uint32_t id = fz_find(&t->v, text->p + start, end - start);
            int one = start + tk_utf8_length(text->p[start]) == end;
            if (id == FZ_NONE && !one) continue;
            double score = (id == FZ_NONE ? t->unknown_score : t->scores[id]) + best[start].score;
            if (any && score <= best[end].score) continue;
            if (id == FZ_NONE && t->unknown == FZ_NONE) return 0;
            best[end] = (node){score, start, id == FZ_NONE ? t->unknown : id};
            any = 1;
        }
    }
    return 1;
}

/* From the end on; turned round by who asks. */
static size_t add_unknown(const twin *t, const fz_text *text, size_t start, size_t end, fz_piece *out) {
    uint32_t id = fz_find(&t->v, text->p + start, end - start);
    int bytes = t->byte_fallback && id == FZ_NONE;
    for (size_t k = start; k < end; k++) bytes = bytes && fz_byte_token(&t->v, text->p[k]) != FZ_NONE;
    if (!bytes) return *out = (fz_piece){id == FZ_NONE ? t->unknown : id, start, end}, 1;
    for (size_t k = 0; k < end - start; k++)
        out[k] = (fz_piece){fz_byte_token(&t->v, text->p[end - 1 - k]), start, end};
    return end - start;
}

static size_t naive(const twin *t, const fz_text *text, fz_piece *out) {
    node *best = malloc((text->n + 1) * sizeof *best);
    size_t n = 0;
    if (!weigh(t, text, best)) return free(best), SIZE_MAX;
    for (size_t end = text->n, start; end; end = start) {
        start = best[end].start;
        if (best[end].id != t->unknown) {
            out[n++] = (fz_piece){best[end].id, start, end};
            continue;
        }
        while (start && best[start].id == t->unknown) start = best[start].start; /* neighbours are one */
        n += add_unknown(t, text, start, end, out + n);
    }
    for (size_t i = 0, j = n; i + 1 < j; i++) {
        fz_piece swapped = out[--j];
        out[j] = out[i];
        out[i] = swapped;
    }
    free(best);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    static twin t;
    int64_t culprit;
    double least = 0;
    memset(&t, 0, sizeof t);
    unsigned options = fz_byte(&f);
    t.byte_fallback = options & 1;
    fz_put_bytes(&f, &t.v);
    fz_put_characters(&f, &t.v, "", "");
    fz_put_joined(&f, &t.v, 0, 80);
    if (!t.v.n) fz_put(&t.v, "a", 1);
    int twice = options & 2 && t.v.n < FZ_TOKENS; /* the same token */
    if (twice) fz_put(&t.v, fz_token(&t.v, t.v.n - 1), fz_length(&t.v, t.v.n - 1));
    t.unknown = options & 4 ? fz_byte(&f) % t.v.n : FZ_NONE;
    for (uint32_t id = 0; id < t.v.n; id++) { /* quarters, so that there are equals; or thirds, which are rounded */
        t.scores[id] = id < 256 || f.p < f.end ? -(double)fz_below(&f, 64) / (options & 8 ? 4 : 3) : -2;
        if (t.scores[id] < least) least = t.scores[id];
    }
    t.unknown_score = least - 10.0;
    tk_model_options o = {.unknown = t.unknown, .byte_fallback = t.byte_fallback, .scores = t.scores,
                          .least_score = least};
    fz_text text = fz_spell(&f, FZ_MODEL_ALPHABET, FZ_N_MODEL_ALPHABET, MOST);
    tk_own_tokens own = {t.v.blob, t.v.offsets, t.v.n, t.v.foreign};
    tk_model m = {0};
    CHECK(tk_unigram_build(&m, &own, &o, &culprit) == TK_OK);
    fz_piece *wanted = malloc((text.n + 1) * sizeof *wanted);
    size_t n = naive(&t, &text, wanted);
    fz_check_piece(&m, 0, &text, wanted, n);
    fz_check_text(&m, 0, &text, wanted, n, FZ_NONE);
    free(wanted);
    free(text.p);
    tk_model_free(&m);
    free(t.v.blob);
    return 0;
}
