/* The rule of split points, and the search for them: see split_points.h.

   Why the rule is right. All patterns are alternatives of runs of classes; nothing in them looks back, and they
   look ahead only from the end of a run of white space ($, (?!\S)), and deepseek-v3 from one more kind of run. Let c
   be a point between the characters p and q, where the rule says yes. No attempt to match that begins before c can
   take q in:

   1. q is white space and no line end, p is no white space. A pattern has such a q as the first character of a
      pretoken (what may lead letters, digits or punctuation) or in a pretoken of white space alone, and p is neither.
   2. p is a letter or a digit; q is no letter, digit or mark, no apostrophe, and not Han. What may follow p within
      a pretoken is more letters, marks (o200k, qwen3.5), digits or Han (kimi-k2, where a run of Han may hold symbols
      too), or an apostrophe with s, t, re … (o200k). Line ends and slashes follow punctuation or white space within
      a pretoken; p is neither.

   So every attempt from before c ends at c or before, with or without q, and looks ahead, if at all, from a run of
   white space that ends before p or earlier, where the text is the same; or, deepseek-v3, from a run of characters
   that its splits do not match, for a letter or a mark: p is no such character in case 2, and q in case 1 is as little
   a letter as the end of the text is. Thus the text up to c, matched alone, has the pretokens that it has in the whole,
   the last one ending at c; and from c on a match knows nothing of what came before. Both sides may be encoded apart:
   tests/core/test_split_points.py compares the rule with its naive twin and with the patterns. */
#include "split/split_points.h"

#include "split/scan.h"
#include "text/unicode_tables.h"
#include "text/utf8.h"

enum {
    LONGEST_SPECIAL = 256, /* bytes of a special token that the look around a point has room for */
    TRIES = 64, /* points that special tokens may forbid before a search ends: it must not cost more than encoding */
};

#define BIT(name) (UINT32_C(1) << TK_CAT_##name)
#define LETTER (BIT(LU) | BIT(LT) | BIT(LL) | BIT(LM) | BIT(LO))
#define NUMBER (BIT(ND) | BIT(NL) | BIT(NO))
#define MARK (BIT(MN) | BIT(MC) | BIT(ME))
#define BLANK (BIT(ZS) | BIT(ZL) | BIT(ZP) | BIT(WHITE_CONTROL)) /* white space but line ends */
#define WHITE (BLANK | BIT(LINE_END))

static int may_split(uint32_t p, uint32_t q) {
    uint32_t before = UINT32_C(1) << tk_category(p), after = UINT32_C(1) << tk_category(q);
    if (after & BLANK) return !(before & WHITE);
    return before & (LETTER | NUMBER) && !(after & (LETTER | NUMBER | MARK)) && q != '\'' && !tk_is_han(q);
}

/* The characters on both sides of byte `at`; 0 where that is inside one, or either is cut or not UTF-8. */
static int utf8_around(const uint8_t *text, size_t n, size_t at, uint32_t *p, uint32_t *q) {
    TK_ASSERT(at && at < n);
    if (tk_is_continuation(text[at]) || text[at] >= 0xF5) return 0;
    size_t start = at - 1, end = at + tk_utf8_length(text[at]);
    unsigned length;
    while (start && at - start < 4 && tk_is_continuation(text[start])) start--;
    if (end > n || tk_utf8_invalid(text + start, at - start) != at - start ||
        tk_utf8_invalid(text + at, end - at) != end - at)
        return 0;
    *p = tk_utf8_decode(text + start, &length);
    *q = tk_utf8_decode(text + at, &length);
    return 1;
}

static uint32_t unit(const tk_document *d, size_t i) {
    TK_ASSERT(i < d->n && (d->width == 1 || d->width == 2 || d->width == 4));
    if (d->width == 1) return ((const uint8_t *)d->units)[i];
    return d->width == 2 ? ((const uint16_t *)d->units)[i] : ((const uint32_t *)d->units)[i];
}

static int is_surrogate(uint32_t c) { return (c & 0xFFFFF800) == 0xD800; }

static unsigned atom_of(uint32_t c) { return c < 0x80 ? c : tk_atom_beyond_ascii(c); }

static int characters_split(const tk_document *d, size_t at) {
    uint32_t p, q;
    if (!d->width) {
        if (!utf8_around(d->units, d->n, at, &p, &q)) return 0;
    } else {
        p = unit(d, at - 1), q = unit(d, at);
        if (is_surrogate(p) || is_surrogate(q)) return 0; /* two of them may be one character */
    }
    return d->rule ? (d->rule->left[atom_of(p)] & d->rule->right[atom_of(q)]) != 0 : may_split(p, q);
}

/* Does the text of a special token stand across the point, or, where that matters, beside it? */
static int special_spans(const tk_document *d, size_t at) {
    size_t reach = d->special->longest; /* bytes, so characters at most */
    TK_ASSERT(at <= d->n && reach <= LONGEST_SPECIAL);
    size_t start = at > reach ? at - reach : 0, end = d->n - at > reach ? at + reach : d->n;
    if (!d->width)
        return tk_added_spans(d->special, (const uint8_t *)d->units + start, end - start, at - start, d->beside);
    uint8_t utf8[2 * LONGEST_SPECIAL * 4];
    int surrogates;
    const uint8_t *units = (const uint8_t *)d->units + start * (size_t)d->width;
    size_t before = tk_utf8_from_units(units, at - start, d->width, utf8, &surrogates);
    units += (at - start) * (size_t)d->width;
    size_t n = before + tk_utf8_from_units(units, end - at, d->width, utf8 + before, &surrogates);
    return tk_added_spans(d->special, utf8, n, before, d->beside);
}

size_t tk_split_point(const tk_document *d, size_t from, size_t limit) {
    TK_ASSERT(limit <= d->n && (d->units || !d->n));
    if (d->special && d->special->longest > LONGEST_SPECIAL) return limit;
    int tries = TRIES;
    for (size_t at = from ? from : 1; at < limit; at++) {
        if (!characters_split(d, at)) continue;
        if (!d->special || !special_spans(d, at)) return at;
        if (!--tries) break;
    }
    return limit;
}
