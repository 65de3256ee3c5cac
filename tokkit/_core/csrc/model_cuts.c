/* Merges in, the pairs of characters that they join out: see model_cuts.h. */
#include "model_cuts.h"

/* The character that the bytes are, or UINT32_MAX where they are none. */
static uint32_t one_character(const uint8_t *bytes, size_t n) {
    uint8_t again[4];
    unsigned length;
    if (!n || n != tk_utf8_length(*bytes)) return UINT32_MAX;
    uint32_t c = tk_utf8_decode(bytes, &length);
    if (c >= 0x110000 || (size_t)(tk_utf8_put(again, c) - again) != n || memcmp(again, bytes, n)) return UINT32_MAX;
    return c;
}

static uint32_t first_character(const uint8_t *bytes, size_t n) {
    size_t length = tk_utf8_length(*bytes);
    return length <= n ? one_character(bytes, length) : UINT32_MAX;
}

static uint32_t last_character(const uint8_t *bytes, size_t n) {
    size_t length = 1;
    while (length < n && length < 4 && tk_is_continuation(bytes[n - length])) length++;
    return one_character(bytes + n - length, length);
}

static int list_characters(tk_unit_cuts *cuts, const tk_own_tokens *own) {
    const size_t block = (size_t)1 << TK_CHARACTERS_BITS;
    size_t n = 1; /* the first block is of characters that are no tokens */
    uint32_t c;
    for (size_t id = 0; id < own->n_ids; id++) {
        c = one_character(tk_own_bytes(own, id), tk_own_length(own, id));
        if (c != UINT32_MAX && !cuts->block_of[c >> TK_CHARACTERS_BITS])
            cuts->block_of[c >> TK_CHARACTERS_BITS] = (uint16_t)n++;
    }
    cuts->ids = tk_alloc(n * block, sizeof *cuts->ids);
    if (!cuts->ids) return TK_NO_MEMORY;
    for (size_t i = 0; i < n * block; i++) cuts->ids[i] = TK_NO_ID;
    for (size_t id = 0; id < own->n_ids; id++) {
        c = one_character(tk_own_bytes(own, id), tk_own_length(own, id));
        if (c != UINT32_MAX)
            cuts->ids[cuts->block_of[c >> TK_CHARACTERS_BITS] * block + (c & (block - 1))] = (uint32_t)id;
    }
    return TK_OK;
}

static int is_of_a_byte(const uint32_t *bytes, uint32_t id) {
    for (int byte = 0; byte < 256; byte++)
        if (bytes[byte] == id) return 1;
    return 0;
}

/* Whether each byte has a token, and no merge has one of these on either side. */
static int leaves_bytes_alone(const tk_own_tokens *own, const uint32_t *merges, size_t n_merges,
                              const uint32_t *bytes) {
    enum { LENGTH = 6 }; /* of "<0x00>" */
    for (int byte = 0; byte < 256; byte++)
        if (bytes[byte] == TK_NO_ID) return 0;
    for (size_t rank = 0; rank < n_merges; rank++)
        for (int side = 0; side < 2; side++) {
            uint32_t id = merges[3 * rank + side];
            if (tk_own_length(own, id) == LENGTH && *tk_own_bytes(own, id) == '<' && is_of_a_byte(bytes, id)) return 0;
        }
    return 1;
}

/* A side of a merge that begins or ends in part of a character is none that can come about: what is merged is made
   of the tokens of whole characters, or of bytes, which leaves_bytes_alone looks at, or of the unknown one, at which
   nothing is cut. */
int tk_unit_cuts_build(tk_unit_cuts *cuts, const tk_own_tokens *own, const uint32_t *merges, size_t n_merges,
                       const uint32_t *bytes) {
    cuts->joined = tk_calloc((size_t)1 << TK_BIGRAM_BITS >> 3, 1);
    cuts->block_of = tk_calloc(TK_CHARACTER_BLOCKS, sizeof *cuts->block_of);
    if (!cuts->joined || !cuts->block_of) return TK_NO_MEMORY;
    for (size_t rank = 0; rank < n_merges; rank++) {
        uint32_t left = merges[3 * rank], right = merges[3 * rank + 1];
        uint32_t c = last_character(tk_own_bytes(own, left), tk_own_length(own, left));
        uint32_t d = first_character(tk_own_bytes(own, right), tk_own_length(own, right));
        if (c != UINT32_MAX && d != UINT32_MAX)
            tk_set_bit(cuts->joined, tk_bigram_place(tk_bigram_left(c), tk_bigram_right(d)));
    }
    cuts->all = bytes && leaves_bytes_alone(own, merges, n_merges, bytes);
    return list_characters(cuts, own);
}

void tk_unit_cuts_free(tk_unit_cuts *cuts) {
    free(cuts->joined);
    free(cuts->block_of);
    free(cuts->ids);
    memset(cuts, 0, sizeof *cuts);
}
