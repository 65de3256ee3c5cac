/* 64 bytes as class masks in, the starts of pieces among them out: boundaries by bit algebra.

   Included by one file an ISA, which defines classify() first. A block always begins at the start of a piece,
   so nothing is carried from one block to the next: the last start that a block proves is where the next block
   begins. A block with no start but its first, a piece at the end of the text, and most of what is not ASCII
   are left to the scalar scanner, which says the same more slowly (scan.c). */
#include "scan_family.h"

typedef struct {
    uint64_t upper, lower, digit, blank, line_end, space, apostrophe, slash; /* blank: white space but line ends */
    uint64_t other; /* bytes beyond ASCII */
} tk_masks;

TK_INLINE void classify(const uint8_t *p, tk_masks *masks);

/* The class bits of a byte below 0x80 are BY_LOW_NIBBLE[byte & 15] & BY_HIGH_NIBBLE[byte >> 4]. */
enum { UPPER_BITS = 1 | 4, LOWER_BITS = 2 | 8, DIGIT_BIT = 16, LINE_END_BIT = 32, CONTROL_BIT = 64 };
static const uint8_t BY_LOW_NIBBLE[16] = {
    4 | 8 | 16,         1 | 2 | 4 | 8 | 16, 1 | 2 | 4 | 8 | 16, 1 | 2 | 4 | 8 | 16,
    1 | 2 | 4 | 8 | 16, 1 | 2 | 4 | 8 | 16, 1 | 2 | 4 | 8 | 16, 1 | 2 | 4 | 8 | 16,
    1 | 2 | 4 | 8 | 16, 1 | 2 | 4 | 8 | 16 | 64, 1 | 2 | 4 | 8 | 32, 1 | 2 | 64,
    1 | 2 | 64,         1 | 2 | 32,         1 | 2,              1 | 2};
static const uint8_t BY_HIGH_NIBBLE[16] = {32 | 64, 0, 0, 16, 1, 4, 2, 8, 0, 0, 0, 0, 0, 0, 0, 0};

enum { BLOCK = 64, SCALAR_PIECES = 16 };

TK_INLINE uint64_t behind(uint64_t mask) { return mask << 1; }

TK_INLINE unsigned lowest(uint64_t mask) { return (unsigned)__builtin_ctzll(mask); }

/* Bits below n, for n up to 64. */
TK_INLINE uint64_t below(unsigned n) { return n < 64 ? (UINT64_C(1) << n) - 1 : UINT64_MAX; }

/* Letters of two bytes (Latin, Greek, Cyrillic, Hebrew, Arabic …) become letters of the masks, on both bytes.
   Returns where a character stands that the block leaves to the scalar scanner, BLOCK where none does. */
TK_INLINE unsigned take_letters(const tk_family *f, const uint8_t *p, tk_masks *m) {
    for (uint64_t rest = m->other; rest;) {
        unsigned at = lowest(rest), length;
        if (p[at] >= 0xE0 || at + 2 > BLOCK) return at;
        uint32_t c = class_at(p + at, &length);
        uint64_t bits = UINT64_C(3) << at;
        if (c & LOWER || (!f->case_split && c & LETTER)) m->lower |= bits;
        else if (c & UPPER) m->upper |= bits;
        else return at;
        rest &= ~bits;
    }
    return BLOCK;
}

/* Line ends, and slashes for o200k, that a run of punctuation before them takes along. */
TK_INLINE uint64_t tails(const tk_family *f, const tk_masks *m, uint64_t punctuation) {
    if (f->punctuation_tail == NO_TAIL) return 0;
    uint64_t first = m->line_end & behind(punctuation);
    if (f->punctuation_tail == LINE_END_TAIL || !(m->slash & behind(m->line_end)))
        return m->line_end & ~(m->line_end + first); /* the carry runs through each run that begins with one */
    uint64_t tail = first, all = m->line_end | m->slash, before;
    do before = tail, tail |= behind(tail) & all;
    while (tail != before);
    return tail;
}

/* Starts within runs of white space, which is `white` less the tails. */
TK_INLINE uint64_t white_starts(const tk_family *f, const tk_masks *m, uint64_t white, uint64_t tail) {
    uint64_t all = m->blank | m->line_end, starts = white & ~behind(white);
    if (!f->line_end_rule) return starts | (all & ~(all >> 1));  /* the run, and its last character apart */
    starts |= m->blank & ~(all >> 1);
    uint64_t lines = m->blank & behind(m->line_end & ~tail); /* what follows the last line end of a run */
    uint64_t killed = (m->blank + lines) & ~m->blank & m->line_end;
    for (; killed; killed &= killed - 1) { /* … a stretch of blanks that leads to one more line end does not */
        uint64_t before = lines & below(lowest(killed));
        lines ^= UINT64_C(1) << (63 - __builtin_clzll(before));
    }
    return starts | lines;
}

TK_INLINE uint64_t digit_starts(const tk_family *f, uint64_t digit, uint64_t space) {
    if (f->digits == 0) return digit & ~behind(digit | space);
    if (f->digits == 1) return digit;
    uint64_t starts = digit & ~behind(digit), three = digit & behind(digit) & digit << 2;
    for (uint64_t next = starts << 3 & three; next; next = next << 3 & three) starts |= next;
    return starts;
}

/* The starts in the 64 bytes at p, of which bits below *trusted are sure. */
TK_INLINE uint64_t block_starts(const tk_family *f, const uint8_t *p, unsigned *trusted) {
    tk_masks m;
    classify(p, &m);
    unsigned length = m.other ? take_letters(f, p, &m) : BLOCK;
    uint64_t known = below(length), letter = m.upper | m.lower, white = m.blank | m.line_end;
    uint64_t punctuation = ~(letter | m.digit | white) & known;
    *trusted = length;
    if (length && white >> (length - 1) & 1) { /* how a run of white space is cut shows only at its end */
        uint64_t not_white = ~white & known;
        *trusted = not_white ? 64 - (unsigned)__builtin_clzll(not_white) + 1 : 1;
    }
    uint64_t tail = tails(f, &m, punctuation);
    punctuation &= ~tail;
    uint64_t marks = punctuation & ~behind(punctuation) & ~behind(m.space);
    uint64_t leads = f->any_prefix ? m.blank | marks : m.space; /* what a run of letters may begin with */
    uint64_t starts = letter & ~behind(letter | leads);
    starts |= marks | white_starts(f, &m, white & ~tail, tail) | digit_starts(f, m.digit, m.space);
    if (f->case_split) starts |= m.upper & behind(m.lower);
    uint64_t quotes = m.apostrophe & marks;
    if (f->contractions == SUFFIX_CONTRACTIONS) quotes &= behind(letter);
    for (uint64_t done = 0; quotes; quotes &= quotes - 1) {
        unsigned at = lowest(quotes);
        if (at + 2 >= length) {
            if (*trusted > at) *trusted = at;
            break;
        }
        if (f->contractions == SUFFIX_CONTRACTIONS && done >> at & 1) continue; /* behind a contraction it leads */
        size_t end = contraction_end(p, at + 1, at + 3, f->contractions != LOWER_CONTRACTIONS);
        if (end == at + 1) continue;
        if (f->contractions == SUFFIX_CONTRACTIONS) starts &= ~(UINT64_C(1) << at);
        starts &= ~(below((unsigned)end) & ~below(at + 1)); /* nothing starts inside it */
        if (end < BLOCK) starts |= done = UINT64_C(1) << end;
    }
    return starts;
}

TK_INLINE size_t scan_blocks(const tk_family *f, tk_scanner scalar, const uint8_t *text, size_t n, size_t *pos,
                             size_t *ends, size_t limit) {
    size_t i = *pos, count = 0;
    size_t pieces = 1; /* left to the scalar scanner at a time: more while blocks keep failing */
    while (count + BLOCK <= limit && n - i > BLOCK) {
        unsigned trusted;
        uint64_t starts = block_starts(f, text + i, &trusted) & below(trusted) & ~UINT64_C(1);
        if (TK_UNLIKELY(!starts)) {
            count += scalar(text, n, &i, ends + count, pieces);
            if (pieces < SCALAR_PIECES) pieces *= 2;
            continue;
        }
        pieces = 1;
        size_t from = i;
        i += 63 - (unsigned)__builtin_clzll(starts);
        size_t *out = ends + count;
        count += (unsigned)__builtin_popcountll(starts);
        do { /* eight at a time, and some too many: there is room */
            for (int k = 0; k < 8; k++) {
                out[k] = from + (starts ? lowest(starts) : 0);
                starts &= starts - 1;
            }
            out += 8;
        } while (starts);
    }
    if (n - i <= BLOCK && count < limit) count += scalar(text, n, &i, ends + count, limit - count);
    *pos = i;
    return count;
}

#define SCANNER(name, family, number)                                                                        \
    static size_t name(const uint8_t *text, size_t n, size_t *pos, size_t *ends, size_t limit) {             \
        return scan_blocks(&family, tk_scanners_scalar[number], text, n, pos, ends, limit);                  \
    }

static size_t whole(const uint8_t *text, size_t n, size_t *pos, size_t *ends, size_t limit) {
    return tk_scanners_scalar[TK_SCAN_WHOLE](text, n, pos, ends, limit);
}

#define SCANNERS(isa)                                                                                        \
    SCANNER(r50k, R50K, TK_SCAN_R50K)                                                                        \
    SCANNER(cl100k, CL100K, TK_SCAN_CL100K)                                                                  \
    SCANNER(o200k, O200K, TK_SCAN_O200K)                                                                     \
    SCANNER(llama3, LLAMA3, TK_SCAN_LLAMA3)                                                                  \
    SCANNER(qwen2, QWEN2, TK_SCAN_QWEN2)                                                                     \
    const tk_scanner tk_scanners_##isa[TK_SCAN_FAMILIES] = {whole, r50k, cl100k, o200k, llama3, qwen2};
