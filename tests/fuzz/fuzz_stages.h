/* Makes components that change and cut a text of the bytes of an input, for targets that run them. */
#ifndef FUZZ_STAGES_H
#define FUZZ_STAGES_H
#include "text/char_kinds.h"
#include "encode/stages.h"
#include "fuzz_charsmap.h"
#include "fuzz_dfa.h"

enum { FZ_MOST_STAGES = 5 };
#define FZ_N_STAGE_ALPHABET 14
static const char *const FZ_STAGE_ALPHABET[FZ_N_STAGE_ALPHABET] = {
    "a", "B", " ", "\xe2\x96\x81", "\xc3\xa9", "\xcc\x81", "\xe6\x9d\xb1", ".", "1", "\xef\xac\x81", "\xe3\x81\x8b",
    "\xe3\x82\x99", "\xf0\x9f\xa6\x9c", "\n"};

typedef struct {
    tk_stage list[FZ_MOST_STAGES];
    size_t n;
    fz_text texts[2 * FZ_MOST_STAGES];
    fz_rules rules;
    fz_text charsmap;
    tk_charsmap map;
    fz_dfa dfa;
} fz_stages;

static inline const uint8_t *fz_stage_text(fz *f, fz_stages *s, size_t which, size_t *n) {
    s->texts[which] = fz_spell(f, FZ_STAGE_ALPHABET, FZ_N_STAGE_ALPHABET, 12);
    *n = s->texts[which].n;
    return s->texts[which].p;
}

/* The automaton of a pattern drops what it does not match where components have to tell that apart. */
static inline void fz_stage_split(fz *f, fz_stages *s, tk_split *split, int by_dfa) {
    split->family = (int)fz_below(f, TK_SCAN_FAMILIES);
    split->dfa = by_dfa || fz_byte(f) & 1 ? &s->dfa.dfa : NULL;
}

/* The bytes of the last of several characters, 0 of one: what may stand behind what is replaced. */
static inline int fz_last_character(const uint8_t *p, size_t n) {
    size_t at = n - 1;
    while (at && (p[at] & 0xC0) == 0x80) at--;
    return at ? (int)(n - at) : 0;
}

static inline void fz_read_stage(fz *f, fz_stages *s, tk_stage *stage, size_t k) {
    static const unsigned kinds[4] = {TK_WORD, TK_WHITE, TK_PUNCTUATION, TK_NUMBER};
    memset(stage, 0, sizeof *stage);
    stage->kind = (int)fz_below(f, TK_COMPONENTS);
    stage->skips_inside = fz_byte(f) & 1;
    unsigned options = fz_byte(f), more = fz_byte(f);
    for (int i = 0; i < 4; i++) stage->numbers[i] = options >> i & 1;
    switch (stage->kind) {
    case TK_COMPONENT_FORM: stage->numbers[0] = 1 << (options & 3); break;
    case TK_COMPONENT_REPLACE:
        stage->pattern = fz_stage_text(f, s, 2 * k + 1, &stage->n_pattern);
        if (!stage->n_pattern) stage->pattern = (const uint8_t *)"a", stage->n_pattern = 1;
        stage->count = more % 4;
        stage->numbers[0] = stage->count || !(more & 4) ? 0 : fz_last_character(stage->pattern, stage->n_pattern);
        stage->content = fz_stage_text(f, s, 2 * k, &stage->n_content);
        break;
    case TK_COMPONENT_REPLACE_PATTERN: fz_stage_split(f, s, &stage->split, 1); /* fall through */
    case TK_COMPONENT_PREPEND: stage->content = fz_stage_text(f, s, 2 * k, &stage->n_content); break;
    case TK_COMPONENT_CHARSMAP: stage->map = &s->map; break;
    case TK_COMPONENT_SPLIT_PATTERN: fz_stage_split(f, s, &stage->split, 0); /* fall through */
    case TK_COMPONENT_SPLIT_KIND:
    case TK_COMPONENT_SPLIT_CHARACTER:
        stage->numbers[0] = (int)(options % TK_BEHAVIORS);
        stage->numbers[1] = stage->kind == TK_COMPONENT_SPLIT_KIND ? (int)kinds[more & 3] : (int)(more & 1);
        stage->count = FZ_CHARACTERS[more % 50];
        if (more & 1) stage->count = ' ';
        break;
    case TK_COMPONENT_SPLIT_FIXED: stage->count = more % 5 + 1; break;
    case TK_COMPONENT_METASPACE:
        stage->count = more & 1 ? 0x2581 : more & 2 ? '_' : FZ_CHARACTERS[more % 50];
        stage->numbers[0] = (int)(options % 3);
        break;
    default: break;
    }
}

static inline void fz_read_stages(fz *f, fz_stages *s, size_t most) {
    const char *reason;
    memset(s, 0, sizeof *s);
    fz_read_rules(f, &s->rules, FZ_STAGE_ALPHABET, FZ_N_STAGE_ALPHABET);
    s->charsmap = fz_build_rules(&s->rules);
    CHECK(tk_charsmap_init(&s->map, s->charsmap.p, s->charsmap.n, &reason) == TK_OK);
    fz_dfa_make(f, &s->dfa);
    s->dfa.dfa.dropped = TK_DROPPED;
    s->n = fz_below(f, (unsigned)most + 1);
    for (size_t k = 0; k < s->n; k++) fz_read_stage(f, s, s->list + k, k);
}

static inline void fz_free_stages(fz_stages *s) {
    for (size_t k = 0; k < 2 * FZ_MOST_STAGES; k++) free(s->texts[k].p);
    fz_free_rules(&s->rules);
    free(s->charsmap.p);
    tk_charsmap_free(&s->map);
}

#endif
