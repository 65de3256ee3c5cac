/* Finds the boundaries of pretokens by bit operations, 64 bytes at a time: see scan.h, and bytes.h for the operations.

   A block always begins at the start of a pretoken, so nothing is carried from one block to the next: the last start
   that a block proves is where the next block begins. A block with no start but its first, a pretoken at the end of the
   text, and a few characters are left to the scalar scanner, which says the same more slowly (scan_scalar.c).

   With safe cuts, runs of dense scripts (Han, Kana, Hangul) are cut inside too: see tk_split. A block may begin at such
   a cut as well, since what is left of a run of letters is cut as if it stood alone. */
#ifndef TK_SCAN_LOOPS_H
#define TK_SCAN_LOOPS_H
#include "split/scan_family.h"

typedef struct {
    uint64_t upper, lower, digit, blank, line_end, space, apostrophe, slash; /* blank: white space but line ends */
    uint64_t other; /* bytes beyond ASCII; take_others() tells them apart */
    uint64_t inner; /* of these, all but the first of each character; 0 unless `other` */
    uint64_t both;  /* letters that are upper and lower case at once (o200k) */
    uint64_t han;   /* runs of Han (kimi-k2) or of CJK letters (deepseek-v3), which are in no other mask */
    uint64_t control; /* ASCII that is no letter, digit, punctuation or symbol; white space may be among it */
    uint64_t cuts;  /* safe cuts between letters */
} tk_masks;

/* The class bits of a byte below 0x80 are BY_LOW_NIBBLE[byte & 15] & BY_HIGH_NIBBLE[byte >> 4]. */
enum { UPPER_BITS = 1 | 4, LOWER_BITS = 2 | 8, DIGIT_BIT = 16, LINE_END_BIT = 32, CONTROL_BIT = 64, LOW_BIT = 128 };
static const uint8_t BY_LOW_NIBBLE[16] = {
    4 | 8 | 16 | 128,         1 | 2 | 4 | 8 | 16 | 128,      1 | 2 | 4 | 8 | 16 | 128, 1 | 2 | 4 | 8 | 16 | 128,
    1 | 2 | 4 | 8 | 16 | 128, 1 | 2 | 4 | 8 | 16 | 128,      1 | 2 | 4 | 8 | 16 | 128, 1 | 2 | 4 | 8 | 16 | 128,
    1 | 2 | 4 | 8 | 16 | 128, 1 | 2 | 4 | 8 | 16 | 64 | 128, 1 | 2 | 4 | 8 | 32 | 128, 1 | 2 | 64 | 128,
    1 | 2 | 64 | 128,         1 | 2 | 32 | 128,              1 | 2 | 128,              1 | 2 | 128};
static const uint8_t BY_HIGH_NIBBLE[16] = {32 | 64 | 128, 128, 0, 16, 1, 4, 2, 8, 0, 0, 0, 0, 0, 0, 0, 0};

enum { SCALAR_PIECES = 16, WORTH_A_BLOCK = 16 }; /* pretokens; bytes at the end of a text */

/* The masks of ASCII, and `other`. */
TK_INLINE void classify(vb v, tk_masks *m) {
    const vb classes = b_lookup_ascii(BY_LOW_NIBBLE, BY_HIGH_NIBBLE, v);
    m->other = b_bits(b_beyond_ascii(v));
    m->upper = b_with(classes, UPPER_BITS);
    m->lower = b_with(classes, LOWER_BITS);
    m->digit = b_with(classes, DIGIT_BIT);
    m->line_end = b_with(classes, LINE_END_BIT);
    m->space = b_bits(b_equal(v, ' '));
    m->blank = b_with(classes, CONTROL_BIT) | m->space;
    m->apostrophe = b_bits(b_equal(v, '\''));
    m->slash = b_bits(b_equal(v, '/'));
    m->control = b_with(classes, LOW_BIT) | b_bits(b_equal(v, 0x7F));
}

TK_INLINE uint64_t between(vb v, uint8_t first, uint8_t last) { return b_bits(b_between(v, first, last)); }

/* The scripts whose words stand without spaces, or whose characters are many: all have three bytes. */
TK_INLINE int is_dense(uint8_t first) { return first >= 0xE3 && first <= 0xED; }

/* Put the letters from U+00C0 to U+00FF into the masks; between them stand two signs. What is left of them to no
   class is punctuation, as are quotes and dashes, U+2010 to U+2027. Returns the first bytes of all these. */
TK_INLINE uint64_t take_latin(vb v, tk_masks *m) {
    uint64_t inside = UINT64_MAX >> 1; /* the next byte is in the block */
    uint64_t first = b_bits(b_equal(v, 0xC3)) & inside, second = behind(first);
    uint64_t sign = b_bits(b_equal(v, 0x97)) | b_bits(b_equal(v, 0xB7));
    uint64_t letter = second & ~sign, lower = letter & between(v, 0x9F, 0xBF), upper = letter & ~lower;
    m->lower |= lower | lower >> 1;
    m->upper |= upper | upper >> 1;
    uint64_t quotes = b_bits(b_equal(v, 0xE2)) & b_bits(b_equal(v, 0x80)) >> 1;
    return first | (quotes & between(v, 0x90, 0xA7) >> 2);
}

/* Put the characters beyond ASCII into the masks of their classes, on all their bytes; punctuation is what is in
   none. Returns where a character stands that the block leaves to the scalar scanner, BLOCK where none does. */
TK_INLINE unsigned take_others(const tk_family *f, const uint8_t *p, vb v, const tk_cuts *cuts, tk_masks *m) {
    uint32_t left = 0; /* half the hash of the dense letter that ends at `dense_end` */
    unsigned dense_end = 0;
    for (uint64_t rest = m->other & ~m->inner & ~take_latin(v, m); rest; rest &= rest - 1) {
        unsigned at = tk_lowest_bit(rest), length = tk_utf8_length(p[at]);
        if (at + length > BLOCK) return at;
        uint32_t c = tk_utf8_decode(p + at, &length), found = tk_cat_block[category_place(c)];
        uint32_t category = UINT32_C(1) << (found & TK_CAT_MASK);
        uint64_t bits = below(length) << at;
        int han = f->in_turn ? is_cjk(c) : f->han_apart && found & TK_HAN;
        /* Han numbers, marks and symbols are Han at the start of a pretoken and after Han, and themselves elsewhere. */
        if (f->in_turn && han && !(category & letters_of(f))) return at;
        if (f->han_apart && han && !(category & LETTER) && at && !(m->han >> (at - 1) & 1)) return at;
        if (TK_LIKELY(han || category & letters_of(f))) {
            if (han) m->han |= bits;
            else if (!f->case_split || category & LOWER) m->lower |= bits;
            else if (category & UPPER) m->upper |= bits;
            else m->both |= bits;
            if (cuts && is_dense(p[at])) {
                uint64_t cut = dense_end == at && at && tk_may_cut(cuts, left, p[at - 1], tk_bigram_right(c), p[at]);
                m->cuts |= cut << at;
                left = tk_bigram_left(c);
                dense_end = at + length;
            }
        } else if (category & WHITE) {
            m->blank |= bits;
        } else if (category & NUMBER) {
            if (f->digits > 1) return at; /* counted by characters */
            m->digit |= bits;
        } else if (f->case_split && category & MARK) {
            if (!at || !((m->upper | m->lower | m->both) >> (at - 1) & 1)) return at; /* it leads: see piece_end() */
            m->both |= bits;
        } else if (f->in_turn && !(category & PUNCTUATION_OR_SYMBOL)) {
            return at;
        }
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
    uint64_t last = all & ~(all >> 1); /* of a run, and then a character by itself: its last byte, then its first */
    if (f->in_turn) last &= ~((m->digit | m->han) >> 1); /* there the span ends */
    if (m->inner) {
        last |= (last & m->inner) >> 1;
        last |= (last & m->inner) >> 1;
        last &= ~m->inner;
    }
    if (!f->line_end_rule) return starts | last;
    starts |= m->blank & last;
    uint64_t lines = m->blank & behind(m->line_end & ~tail); /* what follows the last line end of a run */
    uint64_t killed = (m->blank + lines) & ~m->blank & m->line_end;
    for (; killed; killed &= killed - 1) { /* … a span of blanks that leads to one more line end does not */
        uint64_t before = lines & below(tk_lowest_bit(killed));
        lines ^= UINT64_C(1) << (63 - __builtin_clzll(before));
    }
    return starts | lines;
}

TK_INLINE uint64_t digit_starts(const tk_family *f, const tk_masks *m) {
    uint64_t digit = m->digit;
    if (f->digits == 0) return digit & ~behind(digit | m->space);
    if (f->digits == 1) return digit & ~m->inner;
    uint64_t starts = digit & ~behind(digit), three = digit & behind(digit) & digit << 2;
    for (uint64_t next = starts << 3 & three; next; next = next << 3 & three) starts |= next;
    return starts;
}

/* The last bytes of the characters whose first bytes are `first`. */
TK_INLINE uint64_t last_bytes(const tk_masks *m, uint64_t first) {
    if (!m->inner) return first;
    for (int k = 0; k < 3; k++) first |= behind(first) & m->inner;
    return first & ~(m->inner >> 1);
}

/* Starts inside runs of letters, where upper* lower+ | upper+ lower* ends within one (o200k). The letters that
   are both go with those before them. So an upper case letter starts a pretoken after a lower case one, or after
   letters that are both if these follow a lower case one or if the run ends with upper case only. Bits from
   *trusted on may be wrong. */
TK_INLINE uint64_t case_starts(tk_masks *m, unsigned *trusted) {
    if (!m->both) return m->upper & behind(m->lower);
    uint64_t into_lower = m->both & ~(m->both + (m->both & behind(m->lower))); /* runs of both that follow lower */
    uint64_t starts = m->upper & behind(m->lower | into_lower), letter = m->upper | m->lower | m->both;
    m->cuts &= ~into_lower; /* from there on, upper case letters would not be cut off */
    for (uint64_t unsure = m->upper & behind(m->both & ~into_lower); unsure; unsure &= unsure - 1) {
        uint64_t run_end = (m->upper + (unsure & -unsure)) & ~m->upper;
        unsigned at = tk_lowest_bit(unsure);
        if (!run_end || tk_lowest_bit(run_end) >= *trusted) {
            if (*trusted > at) *trusted = at;
            break;
        }
        if (!(run_end & -run_end & letter)) starts |= UINT64_C(1) << at;
    }
    return starts;
}

/* Starts of runs of letters, where ASCII letters alone follow ASCII punctuation in its pretoken (deepseek-v3). */
TK_INLINE uint64_t starts_in_turn(const tk_masks *m, uint64_t letter, uint64_t marks) {
    uint64_t ascii = letter & ~m->other, led = ascii & behind(marks & ~m->other);
    uint64_t led_end = (ascii + led) & ~ascii; /* the carry runs through each run that is led */
    return (letter & ~behind(letter | m->blank) & ~led) | (led_end & letter);
}

/* The starts in the 64 bytes at p, of which bits below *trusted are sure; the first `most` are text. */
TK_INLINE uint64_t block_starts(const tk_family *f, const uint8_t *p, unsigned most, const tk_cuts *cuts,
                                unsigned *trusted) {
    tk_masks m;
    unsigned length = most;
    const vb v = most < BLOCK ? b_load_first(p, most) : b_load(p);
    classify(v, &m);
    m.inner = m.both = m.han = m.cuts = 0;
    if (m.other) {
        m.inner = b_bits(b_continues(v));
        unsigned left = take_others(f, p, v, cuts, &m);
        if (left < length) length = left;
    }
    uint64_t letter = m.upper | m.lower | m.both, white = m.blank | m.line_end;
    if (f->in_turn && m.control & ~white & below(length)) length = tk_lowest_bit(m.control & ~white);
    uint64_t known = below(length);
    uint64_t punctuation = ~(letter | m.digit | white | m.han) & known;
    *trusted = length;
    if (length && white >> (length - 1) & 1) { /* how a run of white space is cut shows only at its end */
        uint64_t not_white = ~white & known;
        *trusted = not_white ? 64 - (unsigned)__builtin_clzll(not_white) + 1 : 1;
    }
    uint64_t tail = tails(f, &m, punctuation);
    punctuation &= ~tail;
    uint64_t marks = punctuation & ~behind(punctuation) & ~behind(m.space);
    /* what a run of letters may begin with */
    uint64_t leads = f->any_prefix ? m.blank | last_bytes(&m, marks) : m.space;
    uint64_t starts = f->in_turn ? starts_in_turn(&m, letter, marks) : letter & ~behind(letter | leads);
    starts |= marks | white_starts(f, &m, white & ~tail, tail) | digit_starts(f, &m);
    if (f->case_split) starts |= case_starts(&m, trusted);
    starts |= (m.han & ~behind(m.han)) | m.cuts;
    uint64_t quotes = f->contractions == NO_CONTRACTIONS ? 0 : m.apostrophe & marks;
    if (f->contractions == SUFFIX_CONTRACTIONS) quotes &= behind(letter);
    for (uint64_t done = 0; quotes; quotes &= quotes - 1) {
        unsigned at = tk_lowest_bit(quotes);
        if (at + 2 >= length) {
            if (*trusted > at) *trusted = at;
            break;
        }
        if (f->contractions == SUFFIX_CONTRACTIONS && done >> at & 1) continue; /* after a contraction it leads */
        size_t end = contraction_end(p, at + 1, at + 3, f->contractions != LOWER_CONTRACTIONS);
        if (end == at + 1) continue;
        if (end < BLOCK && m.both >> end & 1) { /* case_starts() took its letters for the start of these */
            if (*trusted > at) *trusted = at;
            break;
        }
        if (f->contractions == SUFFIX_CONTRACTIONS) starts &= ~(UINT64_C(1) << at);
        starts &= ~(below((unsigned)end) & ~below(at + 1)); /* nothing starts inside it */
        if (end < BLOCK) starts |= done = UINT64_C(1) << end;
    }
    return starts;
}

TK_INLINE size_t scan_blocks(const tk_family *f, tk_scanner scalar, const tk_cuts *cuts, const uint8_t *text,
                             size_t n, size_t *pos, size_t *ends, size_t limit) {
    size_t i = *pos, count = 0;
    size_t pieces = 1; /* left to the scalar scanner at a time: more while blocks keep failing */
    while (count + BLOCK <= limit && n - i > BLOCK) {
        unsigned trusted;
        uint64_t starts = block_starts(f, text + i, BLOCK, cuts, &trusted) & below(trusted) & ~UINT64_C(1);
        if (TK_UNLIKELY(!starts)) {
            count += scalar(cuts, text, n, &i, ends + count, pieces);
            if (pieces < SCALAR_PIECES) pieces *= 2;
            continue;
        }
        pieces = 1;
        size_t from = i;
        i += 63 - (unsigned)__builtin_clzll(starts);
        count += b_places(starts, from, ends + count);
    }
    if (n - i <= BLOCK && n - i >= WORTH_A_BLOCK && count + BLOCK <= limit) {
        unsigned trusted, left = (unsigned)(n - i);
        uint64_t starts = block_starts(f, text + i, left, cuts, &trusted) & below(trusted) & ~UINT64_C(1);
        if (starts) {
            count += b_places(starts, i, ends + count);
            i += 63 - (unsigned)__builtin_clzll(starts);
        }
    }
    if (n - i <= BLOCK && count < limit) count += scalar(cuts, text, n, &i, ends + count, limit - count);
    *pos = i;
    return count;
}

static size_t whole(const tk_cuts *cuts, const uint8_t *text, size_t n, size_t *pos, size_t *ends, size_t limit) {
    return tk_scanners_scalar[TK_SCAN_WHOLE](cuts, text, n, pos, ends, limit);
}

#define TK_FAMILY(id, name, pattern, ...)                                                                    \
    static size_t blocks_##id(const tk_cuts *cuts, const uint8_t *text, size_t n, size_t *pos, size_t *ends, \
                              size_t limit) {                                                                \
        return scan_blocks(&family_##id, tk_scanners_scalar[TK_SCAN_##id], cuts, text, n, pos, ends, limit); \
    }
#include "split/families.def"

static const tk_scanner scanners[TK_SCAN_FAMILIES] = {
    whole,
#define TK_FAMILY(id, name, pattern, ...) blocks_##id,
#include "split/families.def"
};

#endif
