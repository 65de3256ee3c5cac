/* Applies the rules of pieces, and finds boundaries that no piece crosses: see piece_rules.h. */
#include "train/piece_rules.h"

#include "text/script_tables.h"
#include "text/utf8.h"

enum { N_CODE_POINTS = 0x110000, BOUNDARY = 0x1F, UNKNOWN_MARK = 0x2585 };
/* Kinds: a script's number as in script_tables.h, 0 left out, or one of these. */
enum { OUTSIDE = 0, COMMON = 1, INHERITED = 4, ANY = 253, DIGIT_ALONE = 254, SPACE = 255 };

static void fill(tk_piece_kinds *k, uint32_t first, uint32_t behind, int kind) {
    TK_ASSERT(first < behind && behind <= N_CODE_POINTS && kind >= 0 && kind <= SPACE);
    memset(k->kinds + first, kind, behind - first);
}

int tk_piece_kinds_init(tk_piece_kinds *k, tk_piece_rules rules) {
    static const uint32_t digits[] = {'0', 0xFF10}; /* those of sentencepiece: ASCII's and the full-width ones */
    memset(k, 0, sizeof *k);
    k->rules = rules;
    k->kinds = tk_alloc(N_CODE_POINTS, 1);
    if (!k->kinds) return TK_NO_MEMORY;
    for (size_t run = 0; run < TK_SCRIPT_RUNS; run++) {
        uint32_t behind = run + 1 < TK_SCRIPT_RUNS ? tk_script_runs[run + 1] >> 8 : N_CODE_POINTS;
        int script = tk_script_runs[run] & 0xFF;
        fill(k, tk_script_runs[run] >> 8, behind, script ? script : COMMON); /* what has none is common to all */
    }
    for (size_t i = 0; i < 2; i++) {
        if (rules.split_digits) fill(k, digits[i], digits[i] + 10, DIGIT_ALONE);
        else if (!rules.split_numbers) fill(k, digits[i], digits[i] + 10, ANY);
    }
    k->kinds[0] = k->kinds[BOUNDARY] = k->kinds[' '] = k->kinds[UNKNOWN_MARK] = OUTSIDE;
    fill(k, 0xD800, 0xE000, OUTSIDE);
    k->kinds[TK_SPACE_MARK] = SPACE;
    return TK_OK;
}

void tk_piece_kinds_free(tk_piece_kinds *k) {
    free(k->kinds);
    free(k->forbidden);
}

int tk_piece_forbid(tk_piece_kinds *k, const uint32_t *characters, size_t n) {
    size_t all = k->n_forbidden + n + 1;
    if (tk_reserve(&k->forbidden, &k->forbidden_capacity, all, sizeof *k->forbidden)) return TK_NO_MEMORY;
    for (size_t i = 0; i < n; i++) TK_ASSERT(characters[i]); /* 0 ends a text */
    memcpy(k->forbidden + k->n_forbidden, characters, n * sizeof *characters);
    k->forbidden[all - 1] = 0;
    k->n_forbidden = all;
    return TK_OK;
}

static int holds_forbidden(const tk_piece_kinds *k, const uint32_t *characters, size_t n) {
    for (size_t from = 0, length; from < k->n_forbidden; from += length + 1) {
        const uint32_t *text = k->forbidden + from;
        for (length = 0; text[length]; length++) {}
        for (size_t i = 0; i + length <= n; i++)
            if (!memcmp(characters + i, text, length * sizeof *text)) return 1;
    }
    return 0;
}

static int space_may_stand(const tk_piece_rules *r, size_t i, size_t n) {
    int first = i == 0, last = i + 1 == n;
    if (r->space_last) return last || (!r->split_spaces && !first);
    return first || (!r->split_spaces && !last);
}

int tk_piece_is_valid(const tk_piece_kinds *k, const uint32_t *characters, size_t n) {
    const tk_piece_rules *r = &k->rules;
    uint8_t script = ANY;
    int only_spaces = 1;
    if (n == 0 || n > r->max_length) return 0;
    for (size_t i = 0; i < n; i++) only_spaces &= characters[i] == TK_SPACE_MARK;
    for (size_t i = 0; i < n; i++) {
        TK_ASSERT(characters[i] < N_CODE_POINTS);
        uint8_t kind = k->kinds[characters[i]];
        if (kind == OUTSIDE || (kind == DIGIT_ALONE && n > 1)) return 0;
        if (kind == SPACE) {
            if (!(only_spaces && r->pieces_of_spaces) && !space_may_stand(r, i, n)) return 0;
            continue;
        }
        if (kind == INHERITED) continue;
        if (r->split_scripts && kind != ANY && script != ANY && kind != script) return 0;
        script = kind;
    }
    return n < 2 || !holds_forbidden(k, characters, n);
}

/* Whether no piece holds a character of kind `a` and after it one of kind `b`. `script` is that of the piece at hand
   as far as a; it is ANY where a piece that begins later may know of none. */
TK_INLINE int separate(const tk_piece_rules *r, uint8_t a, uint8_t b, uint8_t script) {
    if (b == DIGIT_ALONE || a == DIGIT_ALONE) return 1;
    if (r->split_spaces && (a == SPACE || b == SPACE)) {
        if (a == b) return !r->pieces_of_spaces;
        return r->space_last ? a == SPACE : b == SPACE;
    }
    return r->split_scripts && script != ANY && b != SPACE && b != ANY && b != INHERITED && b != script;
}

static int is_mark(const uint8_t *p, const uint8_t *end) {
    return end - p >= 3 && p[0] == 0xE2 && p[1] == 0x96 && p[2] == 0x81; /* U+2581 */
}

int tk_piece_words(const tk_piece_rules *r, const uint8_t *text, size_t n, int64_t count, tk_word_counts *words) {
    const uint8_t *word = text, *p = text, *end = text + n;
    uint8_t last = OUTSIDE;
    if (!r->split_spaces) return n ? tk_word_counts_add(words, text, n, count) : TK_OK;
    while (p < end) {
        uint8_t kind = is_mark(p, end) ? SPACE : COMMON;
        if (p > word && separate(r, last, kind, ANY)) {
            int status = tk_word_counts_add(words, word, (size_t)(p - word), count);
            if (status) return status;
            word = p;
        }
        last = kind;
        p += kind == SPACE ? 3 : 1; /* inside a character nothing looks like a mark */
    }
    return p > word ? tk_word_counts_add(words, word, (size_t)(p - word), count) : TK_OK;
}

int tk_piece_units(const tk_piece_kinds *k, const tk_word_counts *words, tk_word_counts *units) {
    for (size_t w = 0; w < words->n_words; w++) {
        const tk_counted_word *word = &words->words[w];
        const uint8_t *p = words->bytes + word->offset, *end = p + word->length, *unit = p;
        uint8_t last = OUTSIDE, script = ANY;
        unsigned length;
        for (; p <= end; p += length) {
            uint8_t kind = OUTSIDE;
            length = 1;
            if (p < end) kind = k->kinds[tk_utf8_decode(p, &length)];
            if (last != OUTSIDE && (kind == OUTSIDE || separate(&k->rules, last, kind, script))) {
                int status = tk_word_counts_add(units, unit, (size_t)(p - unit), word->count);
                if (status) return status;
                last = OUTSIDE;
            }
            if (last == OUTSIDE) unit = p;
            last = kind;
            /* After these a piece may begin that has no script yet. */
            script = kind == SPACE || kind == INHERITED ? ANY : kind;
        }
    }
    return TK_OK;
}
