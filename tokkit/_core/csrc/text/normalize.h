/* Normalizes each piece of a text, for the components of normalizers/.

   All of these skip added tokens, change each other piece on its own, and change nothing, not even spans, if no piece
   needs a change. They return TK_OK or what tk_rewrite_end returns. */
#ifndef TK_NORMALIZE_H
#define TK_NORMALIZE_H
#include "text/aligned.h"
#include "text/normalization_tables.h"

_Static_assert(sizeof tk_quick_index == 0x110000 / TK_NORMALIZATION_BLOCK, "an entry for each block");
_Static_assert(sizeof tk_record_index == sizeof tk_quick_index, "an entry for each block");
_Static_assert(TK_ALIGNED_SLACK >= 16, "tk_ascii_end looks so far");

TK_INLINE size_t tk_normalization_place(const uint8_t *index, uint32_t c) {
    TK_ASSERT(c < 0x110000);
    return (size_t)index[c / TK_NORMALIZATION_BLOCK] * TK_NORMALIZATION_BLOCK + c % TK_NORMALIZATION_BLOCK;
}

TK_INLINE unsigned tk_quick(uint32_t c) { return tk_quick_block[tk_normalization_place(tk_quick_index, c)]; }

TK_INLINE const tk_record *tk_record_of(uint32_t c) {
    return tk_records + tk_record_block[tk_normalization_place(tk_record_index, c)];
}

/* After the ASCII characters from `at` on. The slack of a text makes the look after `end` safe. */
TK_INLINE size_t tk_ascii_end(const uint8_t *text, size_t at, size_t end) {
    TK_ASSERT(at <= end);
    const uint64_t high = UINT64_C(0x8080808080808080);
    while (at + 16 <= end && !((tk_load64(text + at) | tk_load64(text + at + 8)) & high)) at += 16;
    while (at < end && text[at] < 0x80) at++;
    return at;
}

enum { TK_HANGUL = 0xAC00, TK_HANGULS = 11172, TK_JAMO_L = 0x1100, TK_JAMO_V = 0x1161, TK_JAMO_T = 0x11A7 };
enum { TK_JAMO_LS = 19, TK_JAMO_VS = 21, TK_JAMO_TS = 28 };

TK_INLINE int tk_is_hangul(uint32_t c) { return c - TK_HANGUL < TK_HANGULS; }

/* ---- NFC, NFD, NFKC, NFKD: `form` is one of TK_QUICK_NFC and so on */

int tk_normalize_form(tk_aligned *a, int form);

/* ---- changes of one character at a time */

int tk_normalize_lowercase(tk_aligned *a);
int tk_normalize_strip_accents(tk_aligned *a);
int tk_normalize_nmt(tk_aligned *a);
int tk_normalize_byte_level(tk_aligned *a);
int tk_normalize_bert(tk_aligned *a, int clean, int chinese, int strip, int lower);

/* ---- changes of a piece */

int tk_normalize_prepend(tk_aligned *a, const uint8_t *text, size_t n);
int tk_normalize_strip(tk_aligned *a, int left, int right);

/* What is looked for: pattern[0:n], not empty, of which the last `ahead` bytes only stand after it; or, with `least`,
   runs of that many or more of it, each as a whole. */
typedef struct {
    const uint8_t *pattern;
    size_t n, least, ahead;
} tk_target;

/* Put `content` in the place of each target. */
int tk_normalize_replace(tk_aligned *a, const tk_target *target, const uint8_t *content, size_t n_content);

/* Put `content` in the place of text[spans[2i]:spans[2i+1]] for each i < n_spans; they are whole characters, in order,
   apart, and each within one piece. */
int tk_normalize_replace_spans(tk_aligned *a, const size_t *spans, size_t n_spans, const uint8_t *content, size_t n);

/* Whether n bytes are in a form already, as far as a look at each character says. */
int tk_normalize_form_stays(int form, const uint8_t *text, size_t n);

#endif
