/* The classes of all code points: by general category, with the differences in tokenizers, whose components use
   tables of different Unicode versions. tests/normalizers/test_components.py compares all with tokenizers. */
#define TK_UNICODE_TABLES_HERE
#include "text/char_kinds.h"

_Static_assert(sizeof tk_cat_index / sizeof *tk_cat_index == 0x110000 >> TK_CAT_BLOCK_BITS, "an entry for each block");
_Static_assert(TK_HAN > TK_CAT_MASK, "the flag is beside the category");

#define W TK_WORD
#define S TK_WHITE
#define P TK_PUNCTUATION
#define D (TK_WORD | TK_NUMBER)
#define B (TK_WORD | TK_PUNCTUATION)

const uint8_t tk_ascii_kinds[128] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, S, S, S, S, S, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    S, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, D, D, D, D, D, D, D, D, D, D, P, P, P, P, P, P,
    P, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, P, P, P, P, B,
    P, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, W, P, P, P, P, 0,
};

/* By the number of a category. */
static const uint8_t kinds[32] = {
    [TK_CAT_LU] = W, [TK_CAT_LL] = W, [TK_CAT_LT] = W, [TK_CAT_LM] = W, [TK_CAT_LO] = W,
    [TK_CAT_MN] = W, [TK_CAT_MC] = W, [TK_CAT_ME] = W,
    [TK_CAT_ND] = D, [TK_CAT_NL] = D, [TK_CAT_NO] = TK_NUMBER,
    [TK_CAT_PC] = B, [TK_CAT_PD] = P, [TK_CAT_PS] = P, [TK_CAT_PE] = P, [TK_CAT_PI] = P, [TK_CAT_PF] = P,
    [TK_CAT_PO] = P,
    [TK_CAT_ZS] = S, [TK_CAT_ZL] = S, [TK_CAT_ZP] = S, [TK_CAT_WHITE_CONTROL] = S, [TK_CAT_LINE_END] = S,
};

typedef struct {
    uint32_t first, last;
} range;

/* All P in here came after Unicode 8. */
static const range younger_punctuation[] = {
    {0x61D, 0x61D}, {0x9FD, 0xA76}, {0xC77, 0xC84}, {0x1B4E, 0x1B4F}, {0x1B7D, 0x1B7F}, {0x2E43, 0x2E5D},
    {0x10D6E, 0x10F89}, {0x113D4, 0x1145D}, {0x11660, 0x116B9}, {0x1183B, 0x11FFF}, {0x12FF1, 0x12FF2},
    {0x16D6D, 0x16FE2}, {0x1E5FF, 0x1E95F},
};
/* Letters in circles and squares: So that are Alphabetic. */
static const range circled[] = {{0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}};
/* Nd and Nl that came with Unicode 17: not assigned in 16. */
static const range younger_numbers[] = {{0x11DE0, 0x11DE9}, {0x16FF4, 0x16FF6}};

#define IS_IN(c, ranges) is_in(c, ranges, sizeof ranges / sizeof *ranges)

static int is_in(uint32_t c, const range *ranges, size_t n) {
    for (size_t i = 0; i < n && ranges[i].first <= c; i++)
        if (c <= ranges[i].last) return 1;
    return 0;
}

unsigned tk_kinds_beyond_ascii(uint32_t c) {
    TK_ASSERT(c >= 0x80 && c < 0x110000);
    size_t block = (size_t)tk_cat_index[c >> TK_CAT_BLOCK_BITS] << TK_CAT_BLOCK_BITS;
    unsigned category = tk_cat_block[block | (c & ((1u << TK_CAT_BLOCK_BITS) - 1))] & TK_CAT_MASK;
    unsigned found = kinds[category];
    if (found & P) return IS_IN(c, younger_punctuation) ? found & ~(unsigned)P : found;
    if (category == TK_CAT_SO) return c == 0x166D ? P : IS_IN(c, circled) ? W : 0; /* 166D was Po */
    if (category == TK_CAT_MN) return c == 0x111C9 ? W | P : W;                    /* so was 111C9 */
    if (category == TK_CAT_CF) return c - 0x200C < 2 ? W : 0;                      /* joiners */
    if (category == TK_CAT_CN) return IS_IN(c, younger_numbers) ? TK_NUMBER : 0;
    return found;
}
