/* A piece in, its units out: parts that no merge of a BPE model over characters reaches out of.

   Two places are safe. Before U+2581, where no token holds it behind another character: words are units. And between
   two characters that no merge joins: a merge whose left side ends in the one and whose right side begins with the
   other would have to be in the list, and `joined` has all of these pairs (a hashed bit set, so a cut may be missed,
   never wrong). Each side then merges as if alone, the argument of safe_cuts.h. What is no token of its own must not
   spoil that: unknown characters may be one token with others, or dropped so that their neighbours meet. So both
   characters are tokens, or all characters that are none become tokens of bytes that nothing merges.

   The second look costs as much as it saves where words are short: it is for characters of three bytes and more, the
   scripts without spaces among them, and their neighbours, and for units that are too long for the cache. */
#ifndef TK_MODEL_CUTS_H
#define TK_MODEL_CUTS_H
#include "safe_cuts.h"
#include "token_trie.h"
#include "utf8.h"

enum { TK_CHARACTERS_BITS = 6, TK_CHARACTER_BLOCKS = 0x110000 >> TK_CHARACTERS_BITS, TK_WIDE = 0xE0 };

typedef struct {
    int blanks;         /* pieces may be cut before U+2581 behind another character, */
    uint8_t *joined;    /* and between characters that are no such pair; NULL: no others */
    int all;            /* whatever has no token of its own becomes bytes that nothing merges */
    uint16_t *block_of; /* [TK_CHARACTER_BLOCKS] */
    uint32_t *ids;      /* in blocks of 64: of the token that is this character, or TK_NO_ID */
} tk_unit_cuts;

/* Fill all but `blanks`, for a model without prefix and suffix. `merges` is [n][3], and each fits (model_bpe.c);
   `bytes` are the ids of bytes where the model falls back to them, else NULL. TK_OK or TK_NO_MEMORY. */
int tk_unit_cuts_build(tk_unit_cuts *cuts, const tk_own_tokens *own, const uint32_t *merges, size_t n_merges,
                       const uint32_t *bytes);
void tk_unit_cuts_free(tk_unit_cuts *cuts);

/* The id of the token that is the character c, or TK_NO_ID. */
TK_INLINE uint32_t tk_character_id(const tk_unit_cuts *cuts, uint32_t c) {
    size_t block = cuts->block_of[c >> TK_CHARACTERS_BITS];
    return cuts->ids[block << TK_CHARACTERS_BITS | (c & ((1 << TK_CHARACTERS_BITS) - 1))];
}

TK_INLINE int tk_is_blank(const uint8_t *p) { return p[0] == 0xE2 && p[1] == 0x96 && p[2] == 0x81; }

TK_INLINE int tk_unit_may_end(const tk_unit_cuts *cuts, uint32_t c, uint32_t d) {
    if (tk_has_bit(cuts->joined, tk_bigram_place(tk_bigram_left(c), tk_bigram_right(d)))) return 0;
    return cuts->all || (tk_character_id(cuts, c) != TK_NO_ID && tk_character_id(cuts, d) != TK_NO_ID);
}

/* Where the next character of three or four bytes begins, from `at` on, or n; 7 more bytes may be read behind n. */
TK_INLINE size_t tk_next_wide(const uint8_t *p, size_t at, size_t n) {
    const uint64_t high = UINT64_C(0x8080808080808080);
    for (; at < n; at += 8) {
        uint64_t bytes = tk_load64(p + at);
        uint64_t wide = bytes & bytes << 1 & bytes << 2 & high; /* three highest bits are set */
        if (!wide) continue;
#if defined(__GNUC__) || defined(__clang__)
        at += (size_t)__builtin_ctzll(wide) >> 3;
#else
        while (p[at] < TK_WIDE) at++;
#endif
        return at < n ? at : n;
    }
    return n;
}

/* How long the first unit of n bytes is, n > 0: at most n. 8 more bytes may be read behind n. */
TK_INLINE size_t tk_unit_length(const tk_unit_cuts *cuts, const uint8_t *p, size_t n) {
    const uint32_t blank = 0x2581;
    size_t at = 0, before;
    unsigned length;
    uint32_t c = 0, d;
    if (cuts->blanks)
        while (at < n && tk_is_blank(p + at)) at += 3, c = blank;
    before = at; /* c, if there is one, ends here */
    while ((at = tk_next_wide(p, at, n)) < n) {
        if (at && cuts->blanks && tk_is_blank(p + at)) return at;
        d = tk_utf8_decode(p + at, &length);
        if (at && cuts->joined) {
            if (at != before) {
                unsigned back = 1;
                while (tk_is_continuation(p[at - back])) back++;
                c = tk_utf8_decode(p + at - back, &back);
            }
            if (tk_unit_may_end(cuts, c, d)) return at;
        }
        c = d;
        before = at += length;
        if (at < n && p[at] < TK_WIDE && cuts->joined && tk_unit_may_end(cuts, c, tk_utf8_decode(p + at, &length)))
            return at;
    }
    return n;
}

/* The same where any two characters are looked at, and `joined` is there. */
TK_INLINE size_t tk_short_unit_length(const tk_unit_cuts *cuts, const uint8_t *p, size_t n) {
    unsigned length;
    uint32_t c = tk_utf8_decode(p, &length), d;
    for (size_t at = length; at < n; at += length, c = d) {
        d = tk_utf8_decode(p + at, &length);
        if (tk_unit_may_end(cuts, c, d)) return at;
    }
    return n;
}

/* Before which of the first 64 of n bytes a unit may end, a bit a byte, while characters have three bytes and only
   `joined` decides: looked up one after another without a branch that waits for it. 3 more bytes may be read. */
TK_INLINE uint64_t tk_wide_cuts(const tk_unit_cuts *cuts, const uint8_t *p, size_t n) {
    uint64_t ends = 0;
    uint32_t left = 0;
    size_t most = n < 64 ? n : 64;
    for (size_t at = 0; at < most && (p[at] & 0xF0) == TK_WIDE; at += 3) {
        uint32_t c = (uint32_t)(p[at] & 0x0F) << 12 | (uint32_t)(p[at + 1] & 0x3F) << 6 | (p[at + 2] & 0x3F);
        uint64_t apart = !tk_has_bit(cuts->joined, tk_bigram_place(left, tk_bigram_right(c)));
        ends |= apart << at;
        left = tk_bigram_left(c);
    }
    return ends & ~UINT64_C(1);
}

#endif
