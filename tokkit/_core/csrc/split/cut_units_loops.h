/* Finds the ends of units, 64 bytes at a time: see cut_rule.h, and bytes.h for the operations. */
#ifndef TK_CUT_UNITS_LOOPS_H
#define TK_CUT_UNITS_LOOPS_H
#include "split/cut_rule.h"

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
    for (unsigned k = 0; k < rule->n_sets; k++) {
        uint64_t left = rule->left[atom] >> k & 1, right = rule->right[atom] >> k & 1;
        if (last >= 0 && last < BLOCK) lefts[k] = (lefts[k] & ~(UINT64_C(1) << last)) | left << last;
        if (at >= 0) rights[k] |= right << at;
    }
}

/* Where units end before the bytes at p, a bit a byte; there is a character before p, and characters are whole. */
TK_INLINE uint64_t cuts_of_block(const tk_cut_rule *rule, const uint8_t *p) {
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
    return cuts;
}

/* Whole blocks from *at on while there is room for their cuts; returns how many ends were written. */
static size_t cut_blocks(const tk_cut_rule *rule, const uint8_t *text, size_t n, size_t *at, size_t *ends,
                            size_t limit) {
    size_t count = 0, i = *at;
    for (; i + BLOCK + 4 <= n && count + BLOCK <= limit; i += BLOCK) {
        uint64_t cuts = cuts_of_block(rule, text + i);
        for (; cuts; cuts &= cuts - 1) ends[count++] = i + tk_lowest_bit(cuts);
    }
    *at = i;
    return count;
}

#endif
