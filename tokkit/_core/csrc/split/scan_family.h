/* The differences between the common split patterns: constants that the scanners are compiled with. */
#ifndef TK_SCAN_FAMILY_H
#define TK_SCAN_FAMILY_H
#include "byte_kernels.h"
#include "split/scan.h"
#include "text/unicode_tables.h"
#include "text/utf8.h"

enum { NO_CONTRACTIONS, LOWER_CONTRACTIONS, ANY_CASE_CONTRACTIONS, SUFFIX_CONTRACTIONS };
enum { NO_TAIL, LINE_END_TAIL, LINE_END_OR_SLASH_TAIL };

typedef struct {
    int contractions;     /* where 's, 't … match: at a pretoken's start, or as a suffix of letters (o200k) */
    int any_prefix;       /* one character that is no letter, digit or line end may lead letters; else one space */
    int case_split;       /* letters as upper* lower+ | upper+ lower* (o200k) */
    unsigned digits;      /* digits a pretoken; 0 for as many as there are, with a leading space (r50k) */
    int punctuation_tail; /* what a run of punctuation takes with it */
    int end_first;        /* \s++$ stands before the line-end rule (cl100k) */
    int line_end_rule;    /* \s*[\r\n] */
    int marks_are_letters; /* letters are [\p{L}\p{M}], and punctuation holds no marks (qwen3.5) */
    int han_apart;        /* \p{Han}+ comes first, and letters hold no Han (kimi-k2) */
    int in_turn;          /* three splits in turn: digits, CJK, then each span on its own (deepseek-v3) */
} tk_family;

#define TK_FAMILY(id, name, pattern, ...) static const tk_family family_##id = {__VA_ARGS__};
#include "split/families.def"

#define BIT(name) (UINT32_C(1) << TK_CAT_##name)
#define UPPER (BIT(LU) | BIT(LT))
#define LOWER BIT(LL)
#define CASELESS (BIT(LM) | BIT(LO))
#define MARK (BIT(MN) | BIT(MC) | BIT(ME))
#define LETTER (UPPER | LOWER | CASELESS)
#define NUMBER (BIT(ND) | BIT(NL) | BIT(NO))
#define ENDS_LINE BIT(LINE_END)
#define WHITE (BIT(ZS) | BIT(ZL) | BIT(ZP) | BIT(WHITE_CONTROL) | ENDS_LINE)
/* \p{P} and \p{S} */
#define PUNCTUATION_OR_SYMBOL                                                                                  \
    (BIT(PC) | BIT(PD) | BIT(PS) | BIT(PE) | BIT(PI) | BIT(PF) | BIT(PO) | BIT(SM) | BIT(SC) | BIT(SK) | BIT(SO))

/* [一-龥぀-ゟ゠-ヿ], which deepseek-v3 takes for CJK, whatever their categories */
TK_INLINE int is_cjk(uint32_t c) { return c - 0x3040 < 0xC0 || c - 0x4E00 <= 0x9FA5 - 0x4E00; }

/* What runs of letters hold, but for o200k's, which cased_letters_end() reads; and [^\s\p{L}\p{N}]. */
TK_INLINE uint32_t letters_of(const tk_family *f) { return f->marks_are_letters ? LETTER | MARK : LETTER; }
TK_INLINE uint32_t punctuation_of(const tk_family *f) { return ~(letters_of(f) | NUMBER | WHITE); }

/* Where tk_cat_block has the category of a code point, and TK_HAN. The first block is ASCII. */
TK_INLINE size_t category_place(uint32_t c) {
    return (size_t)tk_cat_index[c >> TK_CAT_BLOCK_BITS] << TK_CAT_BLOCK_BITS | (c & ((1u << TK_CAT_BLOCK_BITS) - 1));
}

/* The category bit of the character at p, whose bytes go to *length. */
TK_INLINE uint32_t class_at(const uint8_t *p, unsigned *length) {
    if (TK_LIKELY(*p < 0x80)) return *length = 1, UINT32_C(1) << tk_cat_block[*p];
    return UINT32_C(1) << (tk_cat_block[category_place(tk_utf8_decode(p, length))] & TK_CAT_MASK);
}

/* Is the character at p of the script Han? */
TK_INLINE int han_at(const uint8_t *p, unsigned *length) {
    if (TK_LIKELY(*p < 0x80)) return *length = 1, 0;
    return (tk_cat_block[category_place(tk_utf8_decode(p, length))] & TK_HAN) != 0;
}

/* class_at() as letters see it: 0 for Han where the family keeps Han apart. */
TK_INLINE uint32_t letter_class_at(const tk_family *f, const uint8_t *p, unsigned *length) {
    return f->han_apart && han_at(p, length) ? 0 : class_at(p, length);
}

/* class_at() in a span of CJK, or of other characters: 0 for what is none of its own. */
TK_INLINE uint32_t stretch_class_at(int cjk, const uint8_t *p, unsigned *length) {
    if (TK_LIKELY(*p < 0x80)) return *length = 1, cjk ? 0 : UINT32_C(1) << tk_cat_block[*p];
    uint32_t c = tk_utf8_decode(p, length);
    return is_cjk(c) == cjk ? UINT32_C(1) << (tk_cat_block[category_place(c)] & TK_CAT_MASK) : 0;
}

/* End of (?:[sdmt]|ll|ve|re) at i, or i. In any case, "s" has the third form U+017F. */
TK_INLINE size_t contraction_end(const uint8_t *text, size_t i, size_t n, int any_case) {
    if (i >= n) return i;
    uint8_t fold = any_case ? 0x20 : 0;
    uint8_t a = text[i] | fold;
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return i + 1;
    if (i + 1 >= n) return i;
    uint8_t b = text[i + 1] | fold;
    if ((a == 'l' && b == 'l') || (a == 'v' && b == 'e') || (a == 'r' && b == 'e')) return i + 2;
    return any_case && text[i] == 0xC5 && text[i + 1] == 0xBF ? i + 2 : i;
}

/* Those that read one character after another. */
extern const tk_scanner tk_scanners_scalar[TK_SCAN_FAMILIES];

#endif
