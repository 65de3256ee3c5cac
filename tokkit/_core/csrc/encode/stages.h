/* The components of a tokenizer as a list that runs entirely in C: normalizers, then pretokenizers. */
#ifndef TK_COMPONENTS_H
#define TK_COMPONENTS_H
#include "text/charsmap.h"
#include "text/normalize.h"
#include "split/pretokenize.h"

typedef struct tk_stage tk_stage;

/* One component with its options, of which each kind reads its own. Pointers are the owner's. */
struct tk_stage {
    int kind;
    int numbers[4];
    size_t count;
    int skips_inside; /* it puts something before a text: not before a part of one */
    const uint8_t *pattern, *content;
    size_t n_pattern, n_content;
    const tk_charsmap *map;
    tk_split split;
};

/* The kinds, in the order of KINDS in staged.pyx. */
enum {
    TK_COMPONENT_FORM,
    TK_COMPONENT_LOWERCASE,
    TK_COMPONENT_STRIP_ACCENTS,
    TK_COMPONENT_NMT,
    TK_COMPONENT_BYTE_LEVEL,
    TK_COMPONENT_BERT,
    TK_COMPONENT_PREPEND,
    TK_COMPONENT_STRIP,
    TK_COMPONENT_REPLACE,
    TK_COMPONENT_REPLACE_PATTERN,
    TK_COMPONENT_CHARSMAP,
    TK_COMPONENT_SPLIT_PATTERN,
    TK_COMPONENT_SPLIT_KIND,
    TK_COMPONENT_SPLIT_CHARACTER,
    TK_COMPONENT_SPLIT_WORDS,
    TK_COMPONENT_SPLIT_BERT,
    TK_COMPONENT_SPLIT_SCRIPTS,
    TK_COMPONENT_SPLIT_FIXED,
    TK_COMPONENT_PREFIX_SPACE,
    TK_COMPONENT_BYTE_SYMBOLS,
    TK_COMPONENT_METASPACE,
    TK_COMPONENTS
};

/* Run all of them in turn; TK_OK or the status of the one that failed. */
int tk_stages_run(const tk_stage *stages, size_t n, tk_aligned *a);

/* Whether none of them changes n bytes, as far as a quick look tells. */
int tk_stages_keep(const tk_stage *stages, size_t n_stages, const uint8_t *text, size_t n);

#endif
