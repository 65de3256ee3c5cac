/* Pauses of a text: how suitable a position between two tokens is as the end of a chunk. */
#ifndef TK_PAUSES_H
#define TK_PAUSES_H
#include "base.h"

/* What ends the best chunks; tokkit/chunks/chunking.py has the names, by number. */
enum { TK_AT_WORD, TK_AT_SENTENCE, TK_AT_PARAGRAPH, TK_AT_MARKDOWN, TK_AT_CODE, TK_AT_KINDS };

/* Ranks of pauses. None: inside of a character. TK_HEADING is the rank of a heading of level 6, before it; those of
   lower levels have the next five. In code, TK_CODE_LINE is the rank of a line end before the deepest lines; each
   column that the next line is less indented adds 2, and an empty line before it 1. In Markdown, TK_OUTSIDE is added
   outside of code fences. */
enum {
    TK_NO_PAUSE, TK_WITHIN, TK_BETWEEN, TK_SENTENCE, TK_LINE, TK_PARAGRAPH, TK_HEADING,
    TK_CODE_LINE = 3, TK_OUTSIDE = 64
};

/* The code fence that a place is in: its character, and how many; 0 outside. */
typedef struct {
    uint8_t character;
    size_t length;
} tk_fence;

/* Write the rank of the place before each token but the first to ranks[1 …]. Tokens are (start, end) in the bytes of a
   text; starts do not go back. For Markdown, `fence` is the one that the text begins in, and becomes the one that it
   ends in; `continues` says that its first line began before it. */
void tk_rank_pauses(const uint8_t *text, size_t n, const int64_t *spans, size_t n_tokens, int at, tk_fence *fence,
                    int continues, uint8_t *ranks);

/* Leave out the white space at the ends of text[*start:*end]; with `indented`, put in all before the first character
   from the start of its line on. */
void tk_trim(const uint8_t *text, size_t *start, size_t *end, int indented);

#endif
