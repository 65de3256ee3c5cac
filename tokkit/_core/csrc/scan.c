/* One scanner, read with the constants of a family: see scan.h. Each family is compiled on its own, the
   constants folded away. The patterns themselves stand in pretokenizers/patterns.py; the comments name
   the branch of the pattern that a piece of code answers. */
#include "scan.h"

#include "unicode_tables.h"
#include "utf8.h"

enum { NO_CONTRACTIONS, LOWER_CONTRACTIONS, ANY_CASE_CONTRACTIONS, SUFFIX_CONTRACTIONS };
enum { NO_TAIL, LINE_END_TAIL, LINE_END_OR_SLASH_TAIL };

typedef struct {
    int contractions;     /* where 's, 't … match: at a piece's start, or as a suffix of letters (o200k) */
    int any_prefix;       /* one character that is no letter, digit or line end may lead letters; else one space */
    int case_split;       /* letters as upper* lower+ | upper+ lower* (o200k) */
    unsigned digits;      /* digits a piece; 0 for as many as there are, with a leading space (r50k) */
    int punctuation_tail; /* what a run of punctuation takes with it */
    int end_first;        /* \s++$ stands before the line-end rule (cl100k) */
    int line_end_rule;    /* \s*[\r\n] */
} tk_family;

static const tk_family R50K = {LOWER_CONTRACTIONS, 0, 0, 0, NO_TAIL, 1, 0};
static const tk_family CL100K = {ANY_CASE_CONTRACTIONS, 1, 0, 3, LINE_END_TAIL, 1, 1};
static const tk_family O200K = {SUFFIX_CONTRACTIONS, 1, 1, 3, LINE_END_OR_SLASH_TAIL, 0, 1};
static const tk_family LLAMA3 = {ANY_CASE_CONTRACTIONS, 1, 0, 3, LINE_END_TAIL, 0, 1};
static const tk_family QWEN2 = {ANY_CASE_CONTRACTIONS, 1, 0, 1, LINE_END_TAIL, 0, 1};

#define BIT(name) (UINT32_C(1) << TK_CAT_##name)
#define UPPER (BIT(LU) | BIT(LT))
#define LOWER BIT(LL)
#define CASELESS (BIT(LM) | BIT(LO))
#define MARK (BIT(MN) | BIT(MC) | BIT(ME))
#define LETTER (UPPER | LOWER | CASELESS)
#define NUMBER (BIT(ND) | BIT(NL) | BIT(NO))
#define ENDS_LINE BIT(LINE_END)
#define WHITE (BIT(ZS) | BIT(ZL) | BIT(ZP) | BIT(WHITE_CONTROL) | ENDS_LINE)
#define PUNCTUATION (~(LETTER | NUMBER | WHITE)) /* [^\s\p{L}\p{N}] */

unsigned tk_category(uint32_t c) {
    return tk_cat_block[(size_t)tk_cat_index[c >> TK_CAT_BLOCK_BITS] << TK_CAT_BLOCK_BITS |
                        (c & ((1u << TK_CAT_BLOCK_BITS) - 1))];
}

/* The category bit of the character at p, whose bytes go to *length. The first block is ASCII. */
TK_INLINE uint32_t class_at(const uint8_t *p, unsigned *length) {
    if (TK_LIKELY(*p < 0x80)) return *length = 1, UINT32_C(1) << tk_cat_block[*p];
    uint32_t c = tk_utf8_decode(p, length);
    return UINT32_C(1) << tk_cat_block[(size_t)tk_cat_index[c >> TK_CAT_BLOCK_BITS] << TK_CAT_BLOCK_BITS |
                                       (c & ((1u << TK_CAT_BLOCK_BITS) - 1))];
}

TK_INLINE size_t skip(const uint8_t *text, size_t i, size_t n, uint32_t wanted) {
    unsigned length;
    while (i < n && class_at(text + i, &length) & wanted) i += length;
    return i;
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

/* Letters of o200k from i: upper* lower+, else upper+ lower*, where caseless letters and marks are both.
   Greedy upper* takes all it can; if no lower case letter follows, lower+ needs a character that is both, so
   the match ends behind the last one there was. *has_lower says that the first form matched. */
TK_INLINE size_t cased_letters_end(const uint8_t *text, size_t i, size_t n, int *has_lower) {
    size_t end = i, behind_both = i;
    unsigned length;
    uint32_t c = 0;
    for (; end < n && (c = class_at(text + end, &length)) & (UPPER | CASELESS | MARK); end += length)
        if (c & (CASELESS | MARK)) behind_both = end + length;
    *has_lower = 1;
    if (end < n && c & LOWER) return skip(text, end, n, LOWER | CASELESS | MARK);
    if (behind_both > i) return behind_both;
    *has_lower = 0;
    return end;
}

/* End of a piece that starts with white space at i, which has no letters or punctuation to lead. */
TK_INLINE size_t white_end(const tk_family *f, const uint8_t *text, size_t i, size_t n) {
    size_t end = i, last = i, behind_line_end = i;
    unsigned length;
    uint32_t c;
    for (; end < n && (c = class_at(text + end, &length)) & WHITE; end += length) {
        last = end;
        if (c & ENDS_LINE) behind_line_end = end + length;
    }
    if (f->end_first && end == n) return n;                          /* \s++$ */
    if (f->line_end_rule && behind_line_end > i) return behind_line_end; /* \s*[\r\n]+ */
    if (end == n || last == i) return end;                           /* \s+(?!\S) at the end; \s */
    return last;                                                     /* \s+(?!\S) */
}

TK_INLINE size_t piece_end(const tk_family *f, const uint8_t *text, size_t i, size_t n) {
    unsigned length;
    uint32_t c = class_at(text + i, &length);
    size_t end;

    if (text[i] == '\'' && (f->contractions == LOWER_CONTRACTIONS || f->contractions == ANY_CASE_CONTRACTIONS)) {
        end = contraction_end(text, i + 1, n, f->contractions == ANY_CASE_CONTRACTIONS);
        if (end > i + 1) return end;
    }
    size_t behind = i + length;
    uint32_t next = 0; /* class of the second character, where the first may lead it */
    unsigned next_length = 0;
    if (!(c & (LETTER | NUMBER | ENDS_LINE)) && (f->any_prefix || text[i] == ' ') && behind < n)
        next = class_at(text + behind, &next_length);

    if (f->case_split) {
        if (c & (LETTER | MARK) || next & (LETTER | MARK)) {
            int has_lower;
            end = cased_letters_end(text, c & LETTER ? i : behind, n, &has_lower);
            /* A leading mark is prefix first; where upper* lower+ then fails, it is the letter, alone. */
            if (c & MARK && !has_lower) end = behind;
            if (end + 1 < n && text[end] == '\'') {
                size_t suffix = contraction_end(text, end + 1, n, 1);
                if (suffix > end + 1) end = suffix;
            }
            return end;
        }
    } else {
        if (c & LETTER) return skip(text, behind, n, LETTER);
        if (next & LETTER) return skip(text, behind + next_length, n, LETTER);
    }

    if (f->digits == 0) {
        if (c & NUMBER) return skip(text, behind, n, NUMBER);
        if (next & NUMBER) return skip(text, behind + next_length, n, NUMBER);
    } else if (c & NUMBER) {
        end = behind;
        for (unsigned k = 1; k < f->digits && end < n && class_at(text + end, &length) & NUMBER; k++) end += length;
        return end;
    }

    if (c & PUNCTUATION || (text[i] == ' ' && next & PUNCTUATION)) {
        end = skip(text, behind, n, PUNCTUATION);
        if (f->punctuation_tail == NO_TAIL) return end;
        while (end < n && (text[end] == '\n' || text[end] == '\r' ||
                           (f->punctuation_tail == LINE_END_OR_SLASH_TAIL && text[end] == '/')))
            end++;
        return end;
    }
    return white_end(f, text, i, n);
}

#define SCAN(name, family)                                                                                   \
    static size_t name(const uint8_t *text, size_t n, size_t *pos, size_t *ends, size_t limit) {             \
        size_t i = *pos, count = 0;                                                                          \
        while (count < limit && i < n) ends[count++] = i = piece_end(&family, text, i, n);                   \
        *pos = i;                                                                                            \
        return count;                                                                                        \
    }

SCAN(scan_r50k, R50K)
SCAN(scan_cl100k, CL100K)
SCAN(scan_o200k, O200K)
SCAN(scan_llama3, LLAMA3)
SCAN(scan_qwen2, QWEN2)

static size_t scan_whole(const uint8_t *text, size_t n, size_t *pos, size_t *ends, size_t limit) {
    (void)text;
    if (!limit || *pos >= n) return 0;
    ends[0] = *pos = n;
    return 1;
}

typedef size_t (*scan_function)(const uint8_t *, size_t, size_t *, size_t *, size_t);

size_t tk_scan(int family, const uint8_t *text, size_t n, size_t *pos, size_t *ends, size_t limit) {
    static const scan_function table[TK_SCAN_FAMILIES] = {scan_whole, scan_r50k,  scan_cl100k,
                                                          scan_o200k, scan_llama3, scan_qwen2};
    return table[family](text, n, pos, ends, limit);
}
