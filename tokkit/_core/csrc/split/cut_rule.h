/* Cut rules, which define the units of a text: spans that can be encoded independently.

   A text may be cut between two characters a and b where left[atom of a] & right[atom of b] is not 0. Each ASCII
   character is an atom of its own; the others share five. engine/cut_rules.py makes the tables of the rules that
   components state, and says why that is exact.

   With `neighbors`, the pairs of characters in the tokens of a model (neighbors.h), it may also be cut before a
   character beyond ASCII, if both are `kept`, and no neighbours: the stages before the model leave such characters as
   they are, and do not look at what stands beside them. */
#ifndef TK_CUT_RULE_H
#define TK_CUT_RULE_H
#include "split/neighbors.h"

enum {
    TK_ATOM_OTHER = 128, /* what is none of those below */
    TK_ATOM_WHITE,       /* White_Space beyond ASCII */
    TK_ATOM_BLANK,       /* U+2581 */
    TK_ATOM_LEADS,       /* Grapheme_Cluster_Break=Prepend: the next character is of the same cluster */
    TK_ATOM_HAN,         /* what BERT takes for a Chinese character */
    TK_ATOMS
};

_Static_assert(TK_ATOMS == 133, "encode.pxd has arrays of so many");

/* A set of bytes: c is in it if low[c >> 7][c & 15] has the bit (c >> 4) & 7. */
typedef struct {
    uint8_t low[2][16];
} tk_byte_set;

enum { TK_RULE_SETS = 8 };

typedef struct tk_cut_rule {
    uint8_t left[TK_ATOMS], right[TK_ATOMS];
    const uint8_t *neighbors; /* or NULL */
    uint8_t kept[TK_ATOMS];   /* of those beyond ASCII all but TK_ATOM_BLANK must be */
    /* for vectors, by the bits of left and right: ASCII in `left`, with it all bytes beyond where TK_ATOM_OTHER has
       the bit; ASCII in `right` */
    unsigned n_sets;
    tk_byte_set left_sets[TK_RULE_SETS], right_sets[TK_RULE_SETS];
    tk_byte_set odd; /* first bytes of characters whose atom has other bits than TK_ATOM_OTHER */
    tk_byte_set kept_set;
    tk_byte_set han; /* first bytes of three that only Chinese characters have */
} tk_cut_rule;

/* Fill all but left and right, by these. */
void tk_cut_rule_finish(tk_cut_rule *rule);

/* The atom of a character from U+0080 on. */
unsigned tk_atom_beyond_ascii(uint32_t c);

TK_INLINE unsigned tk_atom_at(const uint8_t *p, unsigned *length) {
    if (TK_LIKELY(*p < 0x80)) return *length = 1, *p;
    return tk_atom_beyond_ascii(tk_utf8_decode(p, length));
}

/* The atom of the character that ends before p; there is one. */
TK_INLINE unsigned tk_atom_before(const uint8_t *p) {
    unsigned length;
    const uint8_t *start = p - 1;
    while (tk_is_continuation(*start)) start--;
    return tk_atom_at(start, &length);
}

/* Write the ends of the units from *pos on, at most `limit` (at least 64), and move *pos after the last; the end of
   the text ends a unit. Returns how many, 0 only at the end of the text. The second reads by the vectors of `isa`. */
size_t tk_cut_units(const tk_cut_rule *rule, const uint8_t *text, size_t n, size_t *pos, size_t *ends, size_t limit);
size_t tk_cut_units_by(int isa, const tk_cut_rule *rule, const uint8_t *text, size_t n, size_t *pos, size_t *ends,
                       size_t limit);

#endif
