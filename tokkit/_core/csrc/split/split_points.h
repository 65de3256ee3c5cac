/* Split points: where a text can be cut so that the concatenated ids of its chunks are the ids of the whole.

   Between two characters the rule of `may_split` (split_points.c) sees these two alone. That it is right for the
   patterns of families.def is shown there; what has no proof is not cut. Where
   special tokens cut the text first, no token's text may stand across the point: then finding them from the left
   comes by the point in the whole text too, and finds the same ones on both sides. What stages do at the ends of the
   text between two special tokens, as Prepend does, they do not where a part of a text begins or ends: there a cut may
   not stand beside a token either. */
#ifndef TK_SPLIT_POINTS_H
#define TK_SPLIT_POINTS_H
#include "base.h"
#include "split/added.h"
#include "split/cut_rule.h"

typedef struct {
    const void *units; /* UTF-8, valid or not, or code units of a str */
    size_t n;
    int width; /* bytes of a code unit; 0 for UTF-8 */
    const tk_added *special; /* NULL where special tokens are ordinary text */
    const tk_cut_rule *rule; /* of components; NULL for the patterns that need no other */
    int beside; /* whether a cut beside a special token is none: what it begins or ends is encoded otherwise */
} tk_document;

/* The first split point at or after `from` and before `limit`, else `limit`; `limit` is n at most. If the text
   goes on after n, the units from limit to n must be as many as the longest special token has bytes. */
size_t tk_split_point(const tk_document *document, size_t from, size_t limit);

#endif
