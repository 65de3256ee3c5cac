/* Converts merges given as pairs of strings to ids of the two tokens and of the result. */
#ifndef TK_MERGE_LIST_H
#define TK_MERGE_LIST_H
#include "encode/token_index.h"

enum { TK_MERGE_END = 0 }; /* between two merges */

/* `text` is left, `between`, right of each merge, with TK_MERGE_END between two; merges[k] gets the numbers of left,
   right and result: left and right joined, right without its first n_prefix bytes. TK_OK, TK_NO_MEMORY, or
   TK_BAD_INPUT with *number the merge that is not two strings or names an absent token; n_merges where there are
   more. */
int tk_find_merges(const tk_token_index *index, const uint8_t *text, size_t n, uint8_t between, size_t n_prefix,
                   uint32_t *merges, size_t n_merges, size_t *number);

#endif
