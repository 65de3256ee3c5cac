/* The ends of extended grapheme clusters (Unicode Standard Annex 29, of Unicode 17.0.0). */
#ifndef TK_GRAPHEMES_H
#define TK_GRAPHEMES_H
#include "text/utf8.h"

/* The end of the cluster that begins at text[at], before `end`. */
size_t tk_cluster_end(const uint8_t *text, size_t at, size_t end);

#endif
