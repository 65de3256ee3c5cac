/* Finds where a text that may continue can be cut nevertheless, for byte-level BPE with a compiled pattern: at the end
   of a pretoken that later text cannot change, or inside the last pretoken.

   A place b inside a pretoken divides it if, whatever follows, its tokens are those of the two parts. Let the pretoken
   be known to reach `reach`, and no token be longer than L. The pretoken's tokens, whatever follows, have a boundary q
   within the L bytes before `reach`; those up to q are what text[:q] merges to, as any tokens of a merged text up to a
   boundary are. Sequences that merging makes may be joined if the two tokens that meet may stand side by side. So b is
   such a place if for each of these q the last token of text[:b] and the first of text[b:q] may. And the pattern must
   not see the difference: begun anew at b it has to come to the same row. */
#ifndef TK_OPEN_PIECE_H
#define TK_OPEN_PIECE_H
#include "encode/plan.h"

/* The place, or 0 for none that is known; `text` begins where a pretoken does. Unless `inside`, it is the end of a
   pretoken. *status is TK_OK or TK_NO_MEMORY. */
size_t tk_open_cut(const tk_plan *plan, tk_worker *w, const tk_dfa *dfa, const uint8_t *text, size_t n, int inside,
                   int *status);

#endif
