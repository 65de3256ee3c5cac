/* The scanner of all common patterns, compiled once for each family with its constants: see scan.h. The patterns are
   in families.def; the comments name the branch of the pattern that a piece of code implements. */
#include "split/scan_family.h"

#include "split/dfa.h"

unsigned tk_category(uint32_t c) { return tk_cat_block[category_place(c)] & TK_CAT_MASK; }

int tk_is_han(uint32_t c) { return (tk_cat_block[category_place(c)] & TK_HAN) != 0; }

TK_INLINE size_t skip(const uint8_t *text, size_t i, size_t n, uint32_t wanted) {
    unsigned length;
    while (i < n && class_at(text + i, &length) & wanted) i += length;
    return i;
}

/* Letters of o200k from i: upper* lower+, else upper+ lower*, where caseless letters and marks are both.
   Greedy upper* takes all it can; if no lower case letter follows, lower+ needs a character that is both, so
   the match ends after the last one there was. *has_lower says that the first form matched. */
TK_INLINE size_t cased_letters_end(const tk_family *f, const uint8_t *text, size_t i, size_t n, int *has_lower) {
    size_t end = i, behind_both = i;
    unsigned length;
    uint32_t c = 0;
    for (; end < n && (c = letter_class_at(f, text + end, &length)) & (UPPER | CASELESS | MARK); end += length)
        if (c & (CASELESS | MARK)) behind_both = end + length;
    *has_lower = 1;
    if (end < n && c & LOWER) {
        while (end < n && letter_class_at(f, text + end, &length) & (LOWER | CASELESS | MARK)) end += length;
        return end;
    }
    if (behind_both > i) return behind_both;
    *has_lower = 0;
    return end;
}

/* End of a pretoken that starts with white space at i, which has no letters or punctuation to lead. */
TK_INLINE size_t white_end(const tk_family *f, const uint8_t *text, size_t i, size_t n) {
    size_t end = i, last = i, behind_line_end = i;
    unsigned length;
    uint32_t c;
    for (; end < n && (c = class_at(text + end, &length)) & WHITE; end += length) {
        last = end;
        if (c & ENDS_LINE) behind_line_end = end + length;
    }
    int at_end = end == n;
    if (f->in_turn && !at_end) at_end = !(stretch_class_at(0, text + end, &length) & ~NUMBER); /* of a span */
    if (f->end_first && at_end) return n;                            /* \s++$ */
    if (f->line_end_rule && behind_line_end > i) return behind_line_end; /* \s*[\r\n]+ */
    if (at_end || last == i) return end;                             /* \s+(?!\S) at the end; \s */
    return last;                                                     /* \s+(?!\S) */
}

TK_INLINE size_t skip_in_stretch(int cjk, const uint8_t *text, size_t i, size_t n, uint32_t wanted) {
    unsigned length;
    while (i < n && stretch_class_at(cjk, text + i, &length) & wanted) i += length;
    return i;
}

TK_INLINE int is_ascii_letter(uint8_t byte) { return (uint8_t)((byte | 0x20) - 'a') < 26; }

/* piece_end() of deepseek-v3. The third split sees each span alone: digits, of which it matches none, CJK, or the
   rest. So one pass will do, in which characters of another span are of no class. */
TK_INLINE size_t end_in_turn(const tk_family *f, const uint8_t *text, size_t i, size_t n) {
    const uint32_t letters = LETTER | MARK, unmatched = ~(letters | NUMBER | PUNCTUATION_OR_SYMBOL | WHITE);
    unsigned length, next_length = 0;
    uint32_t c = class_at(text + i, &length), next = 0;
    const int cjk = !stretch_class_at(0, text + i, &length);
    size_t behind = i + length, end = behind;
    if (c & letters) return skip_in_stretch(cjk, text, behind, n, letters);
    if (c & NUMBER) {
        for (unsigned k = 1; k < f->digits && end < n && class_at(text + end, &length) & NUMBER; k++) end += length;
        return end;
    }
    if (behind < n) next = stretch_class_at(cjk, text + behind, &next_length);
    if (text[i] < 0x80 && c & PUNCTUATION_OR_SYMBOL && behind < n && is_ascii_letter(text[behind])) {
        while (end < n && is_ascii_letter(text[end])) end++; /* [!"#…][A-Za-z]+ */
        return end;
    }
    if (!(c & (PUNCTUATION_OR_SYMBOL | ENDS_LINE)) && next & letters)
        return skip_in_stretch(cjk, text, behind + next_length, n, letters);
    if (c & PUNCTUATION_OR_SYMBOL || (text[i] == ' ' && next & PUNCTUATION_OR_SYMBOL)) {
        end = skip_in_stretch(cjk, text, behind, n, PUNCTUATION_OR_SYMBOL);
        while (!cjk && end < n && (text[end] == '\n' || text[end] == '\r')) end++;
        return end;
    }
    if (c & WHITE) return white_end(f, text, i, n);
    size_t last = i; /* what the third split does not match is kept, up to a character that leads letters */
    for (; end < n && (c = stretch_class_at(cjk, text + end, &length)) & unmatched; end += length) last = end;
    return end < n && c & letters ? last : end;
}

TK_INLINE size_t piece_end(const tk_family *f, const uint8_t *text, size_t i, size_t n) {
    unsigned length;
    const uint32_t letters = letters_of(f), punctuation = punctuation_of(f);
    size_t end;

    if (f->in_turn) return end_in_turn(f, text, i, n);
    if (f->han_apart && han_at(text + i, &length)) {
        for (end = i + length; end < n && han_at(text + end, &length);) end += length;
        return end;
    }
    uint32_t c = class_at(text + i, &length);
    if (text[i] == '\'' && (f->contractions == LOWER_CONTRACTIONS || f->contractions == ANY_CASE_CONTRACTIONS)) {
        end = contraction_end(text, i + 1, n, f->contractions == ANY_CASE_CONTRACTIONS);
        if (end > i + 1) return end;
    }
    size_t behind = i + length;
    uint32_t next = 0; /* class of the second character, where the first may lead it */
    unsigned next_length = 0;
    if (!(c & (letters | NUMBER | ENDS_LINE)) && (f->any_prefix || text[i] == ' ') && behind < n)
        next = class_at(text + behind, &next_length);

    if (f->case_split) {
        uint32_t led = next && f->han_apart ? letter_class_at(f, text + behind, &next_length) : next;
        if (c & (LETTER | MARK) || led & (LETTER | MARK)) {
            int has_lower;
            end = cased_letters_end(f, text, c & LETTER ? i : behind, n, &has_lower);
            /* A leading mark is prefix first; where upper* lower+ then fails, it is the letter, alone. */
            if (c & MARK && !has_lower) end = behind;
            if (f->contractions == SUFFIX_CONTRACTIONS && end + 1 < n && text[end] == '\'') {
                size_t suffix = contraction_end(text, end + 1, n, 1);
                if (suffix > end + 1) end = suffix;
            }
            return end;
        }
    } else {
        if (c & letters) return skip(text, behind, n, letters);
        if (next & letters) return skip(text, behind + next_length, n, letters);
    }

    if (f->digits == 0) {
        if (c & NUMBER) return skip(text, behind, n, NUMBER);
        if (next & NUMBER) return skip(text, behind + next_length, n, NUMBER);
    } else if (c & NUMBER) {
        end = behind;
        for (unsigned k = 1; k < f->digits && end < n && class_at(text + end, &length) & NUMBER; k++) end += length;
        return end;
    }

    if (c & punctuation || (text[i] == ' ' && next & punctuation)) {
        end = skip(text, behind, n, punctuation);
        if (f->punctuation_tail == NO_TAIL) return end;
        while (end < n && (text[end] == '\n' || text[end] == '\r' ||
                           (f->punctuation_tail == LINE_END_OR_SLASH_TAIL && text[end] == '/')))
            end++;
        return end;
    }
    return white_end(f, text, i, n);
}

#define TK_FAMILY(id, name, pattern, ...)                                                                    \
    static size_t scan_##id(const tk_cuts *cuts, const uint8_t *text, size_t n, size_t *pos, size_t *ends,   \
                            size_t limit) {                                                                  \
        (void)cuts; /* whole pretokens are always right: what a scanner may cut, it need not */                 \
        size_t i = *pos, count = 0;                                                                          \
        while (count < limit && i < n) ends[count++] = i = piece_end(&family_##id, text, i, n);              \
        *pos = i;                                                                                            \
        return count;                                                                                        \
    }
#include "split/families.def"

static size_t scan_whole(const tk_cuts *cuts, const uint8_t *text, size_t n, size_t *pos, size_t *ends,
                         size_t limit) {
    (void)cuts;
    (void)text;
    if (!limit || *pos >= n) return 0;
    ends[0] = *pos = n;
    return 1;
}

const tk_scanner tk_scanners_scalar[TK_SCAN_FAMILIES] = {
    scan_whole,
#define TK_FAMILY(id, name, pattern, ...) scan_##id,
#include "split/families.def"
};

/* Whether the ends of spans rise from `start` on, up to *pos. */
static inline int ends_rise(const size_t *ends, size_t count, size_t start, size_t pos) {
    for (size_t k = 0; k < count; start = ends[k++] & ~TK_DROPPED)
        if ((ends[k] & ~TK_DROPPED) <= start) return 0;
    return !count || start == pos;
}

static size_t scan(const tk_byte_kernels *by, const tk_split *split, const uint8_t *text, size_t n, size_t *pos,
                   size_t *ends, size_t limit) {
    TK_ASSERT(limit && split->family >= 0 && split->family < TK_SCAN_FAMILIES);
    if (split->dfa) return tk_dfa_scan(split->dfa, split->memo, text, n, pos, ends, limit);
    const tk_scanner *scanners = limit < TK_SCAN_LIMIT ? tk_scanners_scalar : by->scanners;
    const size_t start = *pos, count = scanners[split->family](split->cuts, text, n, pos, ends, limit);
    TK_ASSERT(count <= limit && *pos <= n && (count || start >= n) && ends_rise(ends, count, start, *pos));
    return count;
}

size_t tk_scan(const tk_split *split, const uint8_t *text, size_t n, size_t *pos, size_t *ends, size_t limit) {
    return scan(tk_kernels, split, text, n, pos, ends, limit);
}

size_t tk_scan_by(int isa, const tk_split *split, const uint8_t *text, size_t n, size_t *pos, size_t *ends,
                  size_t limit) {
    return scan(tk_byte_kernels_of(isa), split, text, n, pos, ends, limit);
}
