/* Writes the large tables of a tokenizer.json and of vocab.json: tokens with their ids or scores, merges, added tokens.

   Strings are UTF-8, and are escaped as Python's json does without ASCII escapes. Each function writes to `out`, which
   has the bytes that tk_json_room counts, and returns where it ended. */
#ifndef TK_JSON_WRITE_H
#define TK_JSON_WRITE_H
#include "base.h"

/* String i is bytes[offsets[i]:offsets[i + 1]]. */
typedef struct {
    const uint8_t *bytes;
    const int64_t *offsets;
} tk_strings;

/* A short text, which is copied with what comes after it: a copy of fixed length takes two instructions. */
enum { TK_SHORT = 32 };
typedef struct {
    const uint8_t *p;
    size_t n;
    uint8_t start[TK_SHORT];
} tk_text;

/* What is put between two entries, before the first value of an entry, between its values, and after the last one. */
typedef struct {
    tk_text between, before, middle, after;
} tk_json_layout;

/* An added token: its id, its text and five flags, each a bit, the lowest first. */
enum { TK_ADDED_FLAGS = 5, TK_ADDED_VALUES = 2 + TK_ADDED_FLAGS };

typedef struct {
    tk_strings contents;
    const int64_t *ids;
    const uint8_t *flags;
    tk_text before[TK_ADDED_VALUES]; /* each value, */
    tk_text after, between;          /* and each token */
} tk_json_added;

/* Enough for n entries with these bytes in their strings. */
size_t tk_json_room(const tk_json_layout *layout, size_t n, size_t n_bytes);
size_t tk_json_added_room(const tk_json_added *added, size_t n);

/* "token": id */
uint8_t *tk_json_ids(uint8_t *out, const tk_strings *tokens, const int64_t *ids, size_t n, const tk_json_layout *by);

/* ["token", score], from *at on: up to the first score that tk_decimal_write leaves, of which only what is before the
   score is written, or n. */
uint8_t *tk_json_scores(uint8_t *out, const tk_strings *tokens, const double *scores, int read_back, size_t n,
                        const tk_json_layout *by, size_t *at);

/* "left right", or "left", "right" if the layout has a middle: merges as one text, which is not empty, with `separator`
   in each and a zero byte between two. */
uint8_t *tk_json_merges(uint8_t *out, const uint8_t *text, size_t n_bytes, uint8_t separator,
                        const tk_json_layout *by);

uint8_t *tk_json_put_added(uint8_t *out, const tk_json_added *added, size_t n);

/* The same of merges by their tokens, three numbers each: left, right and result. */
uint8_t *tk_json_merges_of(uint8_t *out, const tk_strings *tokens, const uint32_t *merges, size_t n,
                           const tk_json_layout *by);

/* Lines of "left right", as they are. */
uint8_t *tk_merge_lines(uint8_t *out, const tk_strings *tokens, const uint32_t *merges, size_t n);

/* The number of the first merge whose result is not the two tokens joined, or n. */
size_t tk_first_not_joined(const tk_strings *tokens, const uint32_t *merges, size_t n);

/* Tokens with a symbol for each byte, of two bytes at most, but those with a mark as they are. `out` has room for twice
   the bytes and one more; ends[i + 1] is where token i ends, and ends[0] is 0. */
typedef struct {
    uint8_t text[2], n;
} tk_byte_symbol;
void tk_spell_bytes(uint8_t *out, int64_t *ends, const tk_strings *tokens, const uint8_t *as_they_are, size_t n,
                    const tk_byte_symbol symbols[256]);

#endif
