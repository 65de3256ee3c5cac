/* Fuzzes tokens and a word: checks that WordPiece takes the longest tokens from the left, WordLevel the word, and the
   longest match the same in any bytes. */
#include "fuzz_model.h"

enum { MOST = 300 };

/* One unknown token for all of it, or none. */
static size_t unknown(uint32_t id, size_t n, fz_piece *out) {
    *out = (fz_piece){id, 0, n};
    return id == FZ_NONE ? SIZE_MAX : 1;
}

static size_t naive(const fz_vocab *v, const tk_model_options *o, const fz_text *text, fz_piece *out) {
    size_t count = 0, characters = 0;
    for (size_t k = 0; k < text->n; k++) characters += !tk_is_continuation(text->p[k]);
    if (characters > o->most_characters) return unknown(o->unknown, text->n, out);
    for (size_t at = 0, end; at < text->n; at = end) {
        uint8_t spelt[MOST + 64];
        size_t before = at ? o->n_prefix : 0;
        uint32_t id = FZ_NONE;
        memcpy(spelt, o->prefix, before);
        memcpy(spelt + before, text->p + at, text->n - at);
        for (end = text->n; end > at && (id = fz_find(v, spelt, before + end - at)) == FZ_NONE;) end--;
        if (id == FZ_NONE) return unknown(o->unknown, text->n, out);
        out[count++] = (fz_piece){id, at, end};
    }
    return count;
}

static size_t naive_longest_match(const fz_vocab *v, uint32_t unknown_id, const fz_text *text, fz_piece *out) {
    size_t count = 0;
    for (size_t at = 0, end; at < text->n; at = end) {
        uint32_t id = FZ_NONE;
        for (end = text->n; end > at && (id = fz_find(v, text->p + at, end - at)) == FZ_NONE;) end--;
        if (id == FZ_NONE) id = unknown_id, end = at + 1;
        if (id == FZ_NONE) return SIZE_MAX;
        out[count++] = (fz_piece){id, at, end};
    }
    return count;
}

/* The ids without spans. */
static void check_ids(const tk_model *m, const fz_text *text, const fz_piece *wanted, size_t n) {
    uint32_t *ids = malloc((text->n + 1) * sizeof *ids);
    size_t count = 0;
    CHECK(m->encode_ids(m, text->p, text->n, ids, &count) == (n == SIZE_MAX ? TK_UNENCODABLE : TK_OK));
    CHECK(n == SIZE_MAX || count == n);
    for (size_t k = 0; k < n && n != SIZE_MAX; k++) CHECK(ids[k] == wanted[k].id);
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    static fz_vocab v;
    int64_t culprit;
    memset(&v, 0, sizeof v);
    unsigned options = fz_byte(&f), most = fz_byte(&f);
    const char *prefix = options & 1 ? "#" : options & 2 ? "##" : options & 4 ? "\xc3\xa9" : "";
    tk_model_options o = {.prefix = (const uint8_t *)prefix, .n_prefix = strlen(prefix)};
    o.most_characters = most & 0xC0 ? 1000 : most;
    fz_put_characters(&f, &v, prefix, "");
    fz_put_joined(&f, &v, o.n_prefix, 120);
    if (!v.n) fz_put(&v, "a", 1);
    o.unknown = options & 16 ? fz_byte(&f) % v.n : FZ_NONE;
    fz_text text = fz_spell(&f, FZ_MODEL_ALPHABET, FZ_N_MODEL_ALPHABET, MOST);
    tk_own_tokens own = {v.blob, v.offsets, v.n, v.foreign};
    tk_model m = {0};
    fz_piece *wanted = malloc((text.n + 1) * sizeof *wanted);
    if (options & 32) {
        for (unsigned k = fz_below(&f, 8); k > 0 && text.n; k--) { /* parts of characters */
            size_t at = fz_byte(&f) % text.n;
            fz_find_or_put(&v, text.p + at, 1 + fz_byte(&f) % (text.n - at));
        }
        own = (tk_own_tokens){v.blob, v.offsets, v.n, v.foreign};
        CHECK(tk_longest_match_build(&m, &own, &o, &culprit) == TK_OK);
        size_t n = naive_longest_match(&v, o.unknown, &text, wanted);
        fz_check_piece(&m, 0, &text, wanted, n);
        fz_check_text(&m, 0, &text, wanted, n, FZ_NONE);
        check_ids(&m, &text, wanted, n);
    } else if (options & 8) {
        CHECK(tk_wordlevel_build(&m, &own, &o, &culprit) == TK_OK);
        uint32_t id = fz_find(&v, text.p, text.n);
        size_t n = text.n ? unknown(id == FZ_NONE ? o.unknown : id, text.n, wanted) : 0;
        fz_check_piece(&m, 0, &text, wanted, n);
        fz_check_text(&m, 0, &text, wanted, n, FZ_NONE);
    } else {
        CHECK(tk_wordpiece_build(&m, &own, &o, &culprit) == TK_OK);
        size_t n = text.n ? naive(&v, &o, &text, wanted) : 0;
        fz_check_piece(&m, 0, &text, wanted, n);
        fz_check_text(&m, 0, &text, wanted, n, FZ_NONE);
    }
    free(wanted);
    free(text.p);
    tk_model_free(&m);
    free(v.blob);
    return 0;
}
