/* The pretokenizers, each one pass over the text. All return 0, or
   TK_NO_MEMORY or TK_TOO_LARGE with the text as it was. */
#ifndef TK_PRETOKENIZE_H
#define TK_PRETOKENIZE_H
#include "text/aligned.h"
#include "split/scan.h"

/* What becomes of matches, and of what stands between them, by the numbers of pretokenizers/behaviors.py. */
enum {
    TK_REMOVED = 0,              /* only what stands between matches is a pretoken */
    TK_ISOLATED = 1,             /* each match is a pretoken, and each span between */
    TK_MERGED_WITH_PREVIOUS = 2, /* a match is the end of the span before it */
    TK_MERGED_WITH_NEXT = 3,     /* a match is the start of the span after it */
    TK_CONTIGUOUS = 4,           /* matches in a row are one pretoken */
    TK_BEHAVIORS = 5
};

/* Matches are those of a pattern, read in each pretoken alone; with `invert`, what stands between them. A pattern that
   has to tell them apart is compiled to drop what it does not match. */
int tk_split_by_pattern(tk_aligned *a, const tk_split *split, int behavior, int invert);

/* Matches are given: for each pretoken that is no added token counts[k] of them, (start, end) in bytes of the text, in
   order. An empty one cuts as well. */
int tk_split_by_matches(tk_aligned *a, const int64_t *matches, const int64_t *counts, int behavior, int invert);

/* Each character of any of these kinds (char_kinds.h) is a match; or each that is `c`. */
int tk_split_by_kinds(tk_aligned *a, unsigned kinds, int behavior);
int tk_split_by_character(tk_aligned *a, uint32_t c, int behavior);

/* Runs of word characters, and of neither those nor white space: \w+|[^\w\s]+. */
int tk_split_words(tk_aligned *a);

/* Punctuation characters, and runs of neither those nor white space. */
int tk_split_bert(tk_aligned *a);

/* Runs of one script; what is of any script belongs to the run before it, and before the first to none. */
int tk_split_scripts(tk_aligned *a);

/* Pretokens of `length` characters, at least 1; the last of a pretoken may have fewer. */
int tk_split_fixed(tk_aligned *a, size_t length);

/* A space before each pretoken that does not start with one. */
int tk_prefix_space(tk_aligned *a);

/* The symbol of each byte in its place (byte_symbols.py). */
int tk_byte_symbols(tk_aligned *a);

/* A normalizer: put `content` in the place of each match of a compiled pattern, which drops what it does not match. */
int tk_normalize_replace_pattern(tk_aligned *a, const tk_split *split, const uint8_t *content, size_t n);

/* `replacement` for each space, and before pretokens that do not start with it: none, all, or those from the start of
   the original. */
enum { TK_PREPEND_NEVER = 0, TK_PREPEND_ALWAYS = 1, TK_PREPEND_FIRST = 2 };
int tk_metaspace(tk_aligned *a, uint32_t replacement, int scheme);

#endif
