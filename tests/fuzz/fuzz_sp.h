/* Makes a small SentencePiece model and its naive twin of the bytes of an input. */
#ifndef FUZZ_SP_H
#define FUZZ_SP_H
#include "fuzz_charsmap.h"
#include "sentencepiece/sp_engine.h"

#define FZ_N_SP_ALPHABET 15
static const char *const FZ_SP_ALPHABET[FZ_N_SP_ALPHABET] = {
    "a", "b", "c", " ", "\xe2\x96\x81", "\xc3\xa9", "\xe6\x9d\xb1", "\n", "\xf0\x9f\xa6\x9c", "\xcc\x81", "A", "ab",
    " a", "\xe2\x96\x81" "a", "\xe3\x81\xae"};

typedef struct {
    fz_vocab v, forms; /* pieces as they are stored, and as they stand in the buffer */
    fz_rules rules;
    fz_text charsmap;
    uint8_t kinds[FZ_TOKENS];
    float scores[FZ_TOKENS], least;
    tk_sp_source source;
    tk_sp m;
} fz_sp;

static inline void fz_sp_free(fz_sp *s) {
    free(s->v.blob);
    free(s->forms.blob);
    free(s->charsmap.p);
    fz_free_rules(&s->rules);
}

/* U+2581 as one space where spaces are escaped: appended to p. */
static inline size_t fz_sp_escape(int escapes, uint8_t *to, const uint8_t *p, size_t n) {
    size_t made = 0;
    for (size_t i = 0; i < n; i++) {
        int symbol = escapes && n - i >= 3 && p[i] == 0xE2 && p[i + 1] == 0x96 && p[i + 2] == 0x81;
        to[made++] = symbol ? ' ' : p[i];
        i += symbol ? 2 : 0;
    }
    return made;
}

static inline void fz_sp_put(fz_sp *s, const void *p, size_t n, int kind, float score) {
    if (s->v.n == FZ_TOKENS || !n || (kind != TK_SP_BYTE && fz_find(&s->v, p, n) != FZ_NONE)) return;
    uint32_t id = fz_put(&s->v, p, n);
    s->kinds[id] = (uint8_t)kind;
    s->scores[id] = score;
}

/* What pieces say of themselves: mostly normal ones, with scores of which some are equal. */
static inline void fz_sp_describe(fz *f, fz_sp *s, uint32_t id, int with_odd_kinds, float unit) {
    static const uint8_t kinds[8] = {TK_SP_USER, TK_SP_UNUSED, TK_SP_CONTROL, TK_SP_USER,
                                     TK_SP_NORMAL, TK_SP_NORMAL, TK_SP_NORMAL, TK_SP_NORMAL};
    unsigned byte = fz_byte(f);
    s->kinds[id] = with_odd_kinds && byte >= 0xE0 ? kinds[byte & 7] : TK_SP_NORMAL;
    s->scores[id] = unit * -(float)(byte % 32);
}

static inline void fz_sp_forms(fz_sp *s) {
    const tk_sp_source *o = &s->source;
    int any = 0;
    for (uint32_t id = 0; id < s->v.n; id++) {
        uint8_t form[2 * FZ_LONGEST];
        int kind = s->kinds[id], part = kind == TK_SP_NORMAL || kind == TK_SP_USER;
        if (kind == TK_SP_UNUSED) part = o->model != TK_SP_UNIGRAM;
        if (kind == TK_SP_NORMAL && (!any || s->scores[id] < s->least)) s->least = s->scores[id], any = 1;
        if (o->escape && memchr(fz_token(&s->v, id), ' ', fz_length(&s->v, id))) part = 0;
        size_t n = fz_sp_escape(o->escape, form, fz_token(&s->v, id), fz_length(&s->v, id));
        s->forms.foreign[fz_put(&s->forms, form, part ? n : 0)] = !part;
    }
}

static inline void fz_sp_read(fz *f, fz_sp *s) {
    static const float units[] = {0.25f, 1.0f / 3, 0.1f, 7000.0f};
    unsigned options = fz_byte(f), more = fz_byte(f);
    tk_sp_source *o = &s->source;
    memset(s, 0, sizeof *s);
    o->model = TK_SP_UNIGRAM + (int)(options & 3);
    o->byte_fallback = options >> 2 & 1, o->dummy_prefix = options >> 3 & 1, o->remove_extra = options >> 4 & 1;
    o->escape = !(options >> 5 & 1), o->suffix = options >> 6 & 1;
    fz_sp_put(s, "<unk>", 5, TK_SP_UNKNOWN, 0);
    for (unsigned byte = 0; byte < 256 && o->byte_fallback; byte++) {
        char token[8];
        snprintf(token, sizeof token, "<0x%02X>", byte);
        fz_sp_put(s, token, 6, TK_SP_BYTE, 0);
    }
    uint32_t first = s->v.n;
    unsigned characters = fz_short(f);
    for (int k = 0; k < FZ_N_SP_ALPHABET; k++)
        if (characters >> k & 1) fz_sp_put(s, FZ_SP_ALPHABET[k], strlen(FZ_SP_ALPHABET[k]), TK_SP_NORMAL, 0);
    for (unsigned k = fz_below(f, 90); k > 0 && s->v.n > first; k--) {
        unsigned a = fz_byte(f), b = fz_byte(f);
        fz_join(&s->v, first + a % (s->v.n - first), first + b % (s->v.n - first), 0);
    }
    for (uint32_t id = first; id < s->v.n; id++) fz_sp_describe(f, s, id, more & 4, units[more & 3]);
    if (options & 128) {
        fz_read_rules(f, &s->rules, FZ_SP_ALPHABET, FZ_N_SP_ALPHABET);
        s->charsmap = fz_build_rules(&s->rules);
    }
    o->charsmap = s->charsmap.p, o->n_charsmap = s->charsmap.n;
    o->blob = s->v.blob, o->offsets = s->v.offsets, o->n_ids = s->v.n;
    o->scores = s->scores, o->kinds = s->kinds;
    fz_sp_forms(s);
}

/* ---- the twin's normalizer */

/* What stands at a place becomes *put; returns of how many bytes. */
static inline size_t fz_sp_next(const fz_sp *s, const uint8_t *p, size_t n, const uint8_t **put, size_t *n_put) {
    size_t longest = 0, rule = fz_rule(&s->rules, p, n, 0);
    for (uint32_t id = 0; id < s->v.n; id++) {
        size_t length = fz_length(&s->v, id);
        if (s->kinds[id] == TK_SP_USER && length > longest && length <= n && !memcmp(p, fz_token(&s->v, id), length))
            longest = length;
    }
    *put = p, *n_put = longest ? longest : tk_utf8_length(*p);
    if (longest || rule == SIZE_MAX) return *n_put;
    *put = s->rules.to[rule].p, *n_put = s->rules.to[rule].n;
    return s->rules.from[rule].n;
}

/* The text as it stands in the buffer. */
static inline fz_text fz_sp_normalize(const fz_sp *s, const fz_text *text) {
    const tk_sp_source *o = &s->source;
    const uint8_t *put;
    size_t n_put, taken, at = 0, n = 0, after_space = o->remove_extra != 0;
    uint8_t *made = malloc((FZ_MOST_RULE + 8) * (text->n + 1));
    while (o->remove_extra && at < text->n) {
        taken = fz_sp_next(s, text->p + at, text->n - at, &put, &n_put);
        if (n_put != 1 || *put != ' ') break;
        at += taken;
    }
    int any = at < text->n;
    if (any && o->dummy_prefix && !o->suffix) made[n++] = ' ';
    while (at < text->n) {
        at += fz_sp_next(s, text->p + at, text->n - at, &put, &n_put);
        for (; after_space && n_put && *put == ' '; put++) n_put--;
        if (n_put) after_space = o->remove_extra && put[n_put - 1] == ' ';
        n += fz_sp_escape(o->escape, made + n, put, n_put);
    }
    while (o->remove_extra && n && made[n - 1] == ' ') n--;
    if (any && o->dummy_prefix && o->suffix) made[n++] = ' ';
    fz_text exact = fz_copy(made, n);
    free(made);
    return exact;
}

#endif
