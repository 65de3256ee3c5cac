/* Finds the ends of units, 64 bytes at a time: see cut_rule.h, and bytes.h for the operations. */
#ifndef TK_CUT_UNITS_LOOPS_H
#define TK_CUT_UNITS_LOOPS_H
#include "split/cut_rule.h"
#include "split/neighbors_loops.h"

/* The low half of a byte chooses a row of each table, its high half the table and a bit of the row. */
TK_INLINE uint64_t in_set(const tk_byte_set *set, vb v) {
    static const uint8_t ascii[16] = {1, 2, 4, 8, 16, 32, 64, 128}, beyond[16] = {0, 0, 0,  0,  0,  0,  0, 0,
                                                                                  1, 2, 4, 8, 16, 32, 64, 128};
    return b_some(b_or(b_lookup(set->low[0], ascii, v), b_lookup(set->low[1], beyond, v)));
}

/* The bits of one character beyond ASCII, which begins at place `at` of a block and has not the atom that its bytes
   were taken for: put them right. What stands before the block has a negative place. */
TK_INLINE void mend(const tk_cut_rule *rule, const uint8_t *p, int at, uint64_t *lefts, uint64_t *rights) {
    unsigned length, atom = tk_atom_at(p + at, &length);
    int last = at + (int)length - 1;
    TK_ASSERT(at > -4 && at < BLOCK && !tk_is_continuation(p[at]));
    for (unsigned k = 0; k < rule->n_sets; k++) {
        uint64_t left = rule->left[atom] >> k & 1, right = rule->right[atom] >> k & 1;
        if (last >= 0 && last < BLOCK) lefts[k] = (lefts[k] & ~(UINT64_C(1) << last)) | left << last;
        if (at >= 0) rights[k] |= right << at;
    }
}

/* Kana and full-width forms, E3 81 to E3 83 and EF BC to EF BF: their atom is TK_ATOM_OTHER, though other characters
   begin with the same byte. */
TK_INLINE uint64_t plain_characters(vb v, const uint8_t *p) {
    uint64_t kana = b_bits(b_between(v, 0x81, 0x83)) >> 1 | (uint64_t)(p[BLOCK] - 0x81u < 3) << 63;
    uint64_t wide = b_bits(b_between(v, 0xBC, 0xBF)) >> 1 | (uint64_t)(p[BLOCK] - 0xBCu < 4) << 63;
    return (b_bits(b_equal(v, 0xE3)) & kana) | (b_bits(b_equal(v, 0xEF)) & wide);
}

TK_INLINE int is_blank(const uint8_t *p) { return p[0] == 0xE2 && p[1] == 0x96 && p[2] == 0x81; }

/* The first bytes of U+2581, and those after it; three bytes may be read before the block. */
TK_INLINE uint64_t beside_blanks(vb v, const uint8_t *p) {
    uint64_t found = (uint64_t)(p[-1] == 0x81 && p[-2] == 0x96 && p[-3] == 0xE2);
    if (p[0] == 0x81 && p[-1] == 0x96 && p[-2] == 0xE2) found |= 2;
    if (p[0] == 0x96 && p[1] == 0x81 && p[-1] == 0xE2) found |= 4;
    for (uint64_t lead = b_bits(b_equal(v, 0xE2)); lead; lead &= lead - 1) {
        const unsigned at = tk_lowest_bit(lead);
        if (is_blank(p + at)) found |= UINT64_C(9) << at;
    }
    return found;
}

/* Where units end before the bytes at p, a bit a byte; there is a character before p, and characters are whole. */
TK_INLINE uint64_t cuts_of_block(const tk_cut_rule *rule, const uint8_t *text, const uint8_t *p) {
    const vb v = b_load(p);
    uint64_t lefts[TK_RULE_SETS], rights[TK_RULE_SETS], odd = in_set(&rule->odd, v), cuts = 0;
    unsigned before = rule->left[tk_atom_before(p)];
    for (unsigned k = 0; k < rule->n_sets; k++) {
        lefts[k] = in_set(&rule->left_sets[k], v);
        rights[k] = in_set(&rule->right_sets[k], v);
    }
    if (TK_UNLIKELY(tk_is_continuation(*p))) {
        int at = -1;
        while (tk_is_continuation(p[at])) at--;
        mend(rule, p, at, lefts, rights);
    }
    if (TK_UNLIKELY(odd)) odd &= ~plain_characters(v, p);
    if (TK_UNLIKELY(odd)) { /* text of Chinese characters has some twenty in a block: they are put right at once */
        uint64_t han = odd & in_set(&rule->han, v), lasts = han << 2;
        for (unsigned k = 0; k < rule->n_sets; k++) {
            lefts[k] = rule->left[TK_ATOM_HAN] >> k & 1 ? lefts[k] | lasts : lefts[k] & ~lasts;
            if (rule->right[TK_ATOM_HAN] >> k & 1) rights[k] |= han;
        }
        odd ^= han;
    }
    for (; odd; odd &= odd - 1) mend(rule, p, (int)tk_lowest_bit(odd), lefts, rights);
    for (unsigned k = 0; k < rule->n_sets; k++) cuts |= (lefts[k] << 1 | (before >> k & 1)) & rights[k];
    if (rule->neighbors) {
        uint64_t starts = ~b_bits(b_continues(v)), kept = in_set(&rule->kept_set, v);
        uint64_t test = b_bits(b_beyond_ascii(v)) & starts & ~cuts;
        if (test) test &= kept << 1 | (uint64_t)(p[-1] >= 0x80 || rule->kept[p[-1]]);
        if (test && !rule->kept[TK_ATOM_BLANK]) test &= ~beside_blanks(v, p);
        if (test) cuts |= between_neighbors(rule->neighbors, text, p, test, starts);
    }
    return cuts;
}

/* Whole blocks from *at on while there is room for their cuts; returns how many ends were written. */
static size_t cut_blocks(const tk_cut_rule *rule, const uint8_t *text, size_t n, size_t *at, size_t *ends,
                            size_t limit) {
    size_t count = 0, i = *at;
    TK_ASSERT(i && rule->n_sets <= TK_RULE_SETS); /* a character stands before the block */
    for (; i + BLOCK + 4 <= n && count + BLOCK <= limit; i += BLOCK) {
        uint64_t cuts = cuts_of_block(rule, text, text + i);
        for (; cuts; cuts &= cuts - 1) ends[count++] = i + tk_lowest_bit(cuts);
    }
    *at = i;
    return count;
}

#endif
