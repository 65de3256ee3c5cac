/* Fuzzes tokens, merges and a piece: checks that BPE over characters gives what its rules say, read plainly: with a
   prefix and a suffix, tokens of bytes, unknown characters, and all merges left out by dropout. */
#include "fuzz_model.h"

enum { MOST = 400 };

typedef struct {
    fz_vocab v;
    tk_model_options o;
    uint32_t end;
} twin;

typedef struct {
    fz_piece *list; /* of each, start is not known yet, and end is the length */
    size_t n, unknown;
} symbols;

static void add(symbols *s, uint32_t id, size_t length) { s->list[s->n++] = (fz_piece){id, 0, length}; }

static void add_unknown(const twin *t, symbols *s) {
    if (s->unknown) add(s, t->o.unknown, s->unknown);
    s->unknown = 0;
}

/* What is there before anything merges; 0 where an unknown token is needed and there is none. */
static int read_symbols(const twin *t, const fz_text *text, symbols *s) {
    for (size_t at = 0, length; at < text->n; at += length) {
        uint8_t spelt[32];
        size_t n = 0, before = at ? t->o.n_prefix : 0;
        length = tk_utf8_length(text->p[at]);
        size_t behind = at + length == text->n && t->end == FZ_NONE ? t->o.n_suffix : 0;
        memcpy(spelt, t->o.prefix, before);
        memcpy(spelt + before, text->p + at, length);
        memcpy(spelt + before + length, t->o.suffix, behind);
        n = before + length + behind;
        uint32_t id = fz_find(&t->v, spelt, n);
        if (id != FZ_NONE) {
            add_unknown(t, s);
            add(s, id, length);
            continue;
        }
        int bytes = t->o.byte_fallback;
        for (size_t k = 0; k < n; k++) bytes = bytes && fz_byte_token(&t->v, spelt[k]) != FZ_NONE;
        for (size_t k = 0; k < n && bytes; k++) add(s, fz_byte_token(&t->v, spelt[k]), 1);
        if (bytes || t->o.drops_unknown) continue;
        if (t->o.unknown == FZ_NONE) return 0;
        if (!t->o.fuses) add_unknown(t, s);
        s->unknown += length;
    }
    add_unknown(t, s);
    if (t->end != FZ_NONE) add(s, t->end, 0);
    return 1;
}

/* The last of the merges of a pair counts. */
static uint32_t merge_of(const twin *t, uint32_t left, uint32_t right) {
    for (uint32_t k = t->v.n_merges; k-- > 0;)
        if (t->v.merges[3 * k] == left && t->v.merges[3 * k + 1] == right) return k;
    return FZ_NONE;
}

static void merge(const twin *t, symbols *s) {
    uint32_t *ranks = malloc((s->n + 1) * sizeof *ranks), best;
    for (size_t k = 0; k + 1 < s->n; k++) ranks[k] = merge_of(t, s->list[k].id, s->list[k + 1].id);
    while (s->n > 1) {
        size_t at = 0;
        for (size_t k = 1; k + 1 < s->n; k++)
            if (ranks[k] < ranks[at]) at = k;
        if ((best = ranks[at]) == FZ_NONE) break;
        s->list[at].id = t->v.merges[3 * best + 2];
        s->list[at].end += s->list[at + 1].end;
        s->n--;
        memmove(s->list + at + 1, s->list + at + 2, (s->n - at - 1) * sizeof *s->list);
        memmove(ranks + at, ranks + at + 1, (s->n - at) * sizeof *ranks);
        if (at + 1 < s->n) ranks[at] = merge_of(t, s->list[at].id, s->list[at + 1].id);
        if (at) ranks[at - 1] = merge_of(t, s->list[at - 1].id, s->list[at].id);
    }
    free(ranks);
}

static size_t naive(const twin *t, const fz_text *text, int merges, fz_piece *out) {
    symbols s = {out, 0, 0};
    size_t at = 0;
    if (!text->n) return 0;
    if (!read_symbols(t, text, &s)) return SIZE_MAX;
    if (merges) merge(t, &s);
    for (size_t k = 0; k < s.n; k++) out[k].start = at, out[k].end += at, at = out[k].end;
    return s.n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    static twin t;
    int64_t culprit;
    memset(&t, 0, sizeof t);
    unsigned options = fz_byte(&f), more = fz_byte(&f);
    const char *prefix = options & 1 ? "#" : "", *suffix = options & 2 ? "$" : "";
    t.o = (tk_model_options){.prefix = (const uint8_t *)prefix, .n_prefix = strlen(prefix),
                             .suffix = (const uint8_t *)suffix, .n_suffix = strlen(suffix)};
    t.o.byte_fallback = (options & 4) != 0, t.o.fuses = (options & 8) != 0, t.o.whole_piece = (options & 16) != 0;
    t.o.dropout = more & 4 ? 1.0 : 0.0;
    int drops = more & 8 && !(options & 1), turned = more & 16;
    fz_put_bytes(&f, &t.v);
    fz_put_characters(&f, &t.v, prefix, suffix);
    if (options & 64) t.o.suffix_apart = t.o.n_suffix && fz_find_or_put(&t.v, suffix, t.o.n_suffix) != FZ_NONE;
    t.end = t.o.suffix_apart ? fz_find(&t.v, t.o.suffix, t.o.n_suffix) : FZ_NONE;
    fz_put_joined(&f, &t.v, t.o.n_prefix, 80);
    if (!t.v.n) fz_put(&t.v, "a", 1);
    t.o.unknown = options & 32 ? fz_byte(&f) % t.v.n : FZ_NONE;
    t.o.drops_unknown = t.o.unknown == FZ_NONE && !(more & 2); /* tokenizers drops where there is no unknown token */
    if (turned) fz_turn_merges(&t.v);
    t.o.merges = t.v.merges, t.o.n_merges = t.v.n_merges;
    fz_text text = fz_spell(&f, FZ_MODEL_ALPHABET, FZ_N_MODEL_ALPHABET, MOST);
    tk_own_tokens own = {t.v.blob, t.v.offsets, t.v.n, t.v.foreign};
    tk_model m = {0};
    CHECK(tk_char_bpe_build(&m, &own, &t.o, &culprit) == TK_OK);
    fz_piece *wanted = malloc((4 * text.n + 4) * sizeof *wanted);
    size_t n = naive(&t, &text, !(drops && t.o.dropout > 0), wanted);
    uint32_t whole = t.o.whole_piece && !drops && text.n ? fz_find(&t.v, text.p, text.n) : FZ_NONE;
    fz_check_piece(&m, drops, &text, wanted, n);
    fz_check_text(&m, drops, &text, wanted, n, whole);
    free(wanted);
    free(text.p);
    tk_model_free(&m);
    free(t.v.blob);
    return 0;
}
