/* Running a list of components on a text: see stages.h. */
#include "encode/stages.h"

static int form(const tk_stage *s, tk_aligned *a) { return tk_normalize_form(a, s->numbers[0]); }
static int lowercase(const tk_stage *s, tk_aligned *a) { return (void)s, tk_normalize_lowercase(a); }
static int strip_accents(const tk_stage *s, tk_aligned *a) { return (void)s, tk_normalize_strip_accents(a); }
static int nmt(const tk_stage *s, tk_aligned *a) { return (void)s, tk_normalize_nmt(a); }
static int byte_level(const tk_stage *s, tk_aligned *a) { return (void)s, tk_normalize_byte_level(a); }

static int bert(const tk_stage *s, tk_aligned *a) {
    return tk_normalize_bert(a, s->numbers[0], s->numbers[1], s->numbers[2], s->numbers[3]);
}

static int prepend(const tk_stage *s, tk_aligned *a) {
    return a->place == TK_INSIDE ? TK_OK : tk_normalize_prepend(a, s->content, s->n_content);
}

static int strip(const tk_stage *s, tk_aligned *a) {
    return tk_normalize_strip(a, s->numbers[0] && a->place != TK_INSIDE, s->numbers[1] && !a->goes_on);
}

static int replace(const tk_stage *s, tk_aligned *a) {
    const tk_target target = {s->pattern, s->n_pattern, s->count, (size_t)s->numbers[0]};
    return tk_normalize_replace(a, &target, s->content, s->n_content);
}

static int replace_pattern(const tk_stage *s, tk_aligned *a) {
    return tk_normalize_replace_pattern(a, &s->split, s->content, s->n_content);
}

static int charsmap(const tk_stage *s, tk_aligned *a) { return tk_charsmap_normalize(a, s->map, s->numbers[0]); }

static int split_pattern(const tk_stage *s, tk_aligned *a) {
    return tk_split_by_pattern(a, &s->split, s->numbers[0], s->numbers[1]);
}

static int split_kind(const tk_stage *s, tk_aligned *a) {
    return tk_split_by_kinds(a, (unsigned)s->numbers[1], s->numbers[0]);
}

static int split_character(const tk_stage *s, tk_aligned *a) {
    return tk_split_by_character(a, (uint32_t)s->count, s->numbers[0]);
}

static int split_words(const tk_stage *s, tk_aligned *a) { return (void)s, tk_split_words(a); }
static int split_bert(const tk_stage *s, tk_aligned *a) { return (void)s, tk_split_bert(a); }
static int split_scripts(const tk_stage *s, tk_aligned *a) { return (void)s, tk_split_scripts(a); }
static int split_fixed(const tk_stage *s, tk_aligned *a) { return tk_split_fixed(a, s->count); }

static int prefix_space(const tk_stage *s, tk_aligned *a) {
    return s->skips_inside && a->place == TK_INSIDE ? TK_OK : tk_prefix_space(a);
}

static int byte_symbols(const tk_stage *s, tk_aligned *a) { return (void)s, tk_byte_symbols(a); }

static int metaspace(const tk_stage *s, tk_aligned *a) {
    int skips = s->skips_inside && a->place == TK_INSIDE;
    return tk_metaspace(a, (uint32_t)s->count, skips ? TK_PREPEND_NEVER : s->numbers[0]);
}

/* By kind, and not as a pointer in the stage: an extension that makes stages has a copy of this code of its own. */
static int (*const RUNS[TK_COMPONENTS])(const tk_stage *, tk_aligned *) = {
    form,        lowercase,       strip_accents, nmt,           byte_level,      bert,  prepend,
    strip,       replace,         replace_pattern, charsmap,    split_pattern,   split_kind,
    split_character, split_words, split_bert,    split_scripts, split_fixed,     prefix_space,
    byte_symbols, metaspace,
};

int tk_stages_run(const tk_stage *stages, size_t n, tk_aligned *a) {
    int status = TK_OK;
    for (size_t k = 0; k < n && status == TK_OK; k++) status = RUNS[stages[k].kind](stages + k, a);
    return status;
}

int tk_stages_keep(const tk_stage *stages, size_t n_stages, const uint8_t *text, size_t n) {
    for (size_t k = 0; k < n_stages; k++)
        if (stages[k].kind != TK_COMPONENT_FORM || !tk_normalize_form_stays(stages[k].numbers[0], text, n)) return 0;
    return 1;
}
