/* Normalizes a text by the rules of a SentencePiece model, and gives the offset that each byte comes from.

   At each position, in this order: the longest user-defined symbol that begins there is kept; the longest span in the
   charsmap is replaced; or the character is kept. If extra spaces are removed, those after a space are. */
#ifndef TK_SP_NORMALIZE_H
#define TK_SP_NORMALIZE_H
#include "text/charsmap.h"
#include "encode/token_trie.h"

enum { TK_SP_SLACK = 64 }; /* readable bytes after a normalized text */

typedef struct {
    int add_prefix, remove_extra, escape, suffix;
    int one_byte_space; /* with escape: a space, and U+2581 itself, is one byte 0x20 in the place of three */
} tk_sp_options;

typedef struct {
    tk_sp_options options;
    tk_charsmap map;
    tk_token_trie symbols;
    int has_map, has_symbols;
    uint8_t plain[128];   /* ASCII that stays as it is before other ASCII */
    int all_plain;        /* U+0020 to U+007E do */
    uint8_t starts[256];  /* bytes that begin a user-defined symbol */
    uint8_t mapped[2048]; /* whether the charsmap has something that begins with a character of two bytes */
} tk_sp_normalizer;

/* `symbols` are the pieces, of which the user-defined ones are not excluded; NULL where there are none. TK_OK,
   TK_NO_MEMORY, or TK_BAD_INPUT for what is no charsmap; *reason then says why. Freed by tk_sp_normalizer_free either
   way. */
int tk_sp_normalizer_init(tk_sp_normalizer *z, const uint8_t *charsmap, size_t n, tk_sp_options options,
                          const tk_own_tokens *symbols, const char **reason);
void tk_sp_normalizer_free(tk_sp_normalizer *z);

/* Zeroes at first; `aligns` asks for the origins, which are one more than the bytes. `most` bytes may be made of a
   text, or 32 times as many as it has. */
typedef struct {
    size_t most;
    uint8_t *text;
    size_t n, text_capacity, room; /* room: how many may be made of this text */
    uint32_t *origin;
    size_t origin_capacity;
    int aligns;
} tk_sp_text;

void tk_sp_text_free(tk_sp_text *out);

/* The whole of a text, in the place of what `out` held. TK_OK, TK_NO_MEMORY, TK_GROWN, or TK_TOO_LARGE for 4 GiB with
   origins. */
int tk_sp_normalize(const tk_sp_normalizer *z, const uint8_t *text, size_t n, tk_sp_text *out);

#endif
