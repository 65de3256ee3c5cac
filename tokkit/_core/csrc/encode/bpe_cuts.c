/* Finds the safe cuts of a vocabulary: see safe_cuts.h. */
#include "encode/bpe_model.h"

#include "text/utf8.h"

/* First byte of the character that ends just before `at`, or NULL where the token holds only a part of it. */
static const uint8_t *whole_before(const uint8_t *token, size_t at) {
    for (size_t k = 1; k <= at && k <= 4; k++) {
        const uint8_t *p = token + at - k;
        if (!tk_is_continuation(*p)) return tk_utf8_length(*p) == k ? p : NULL;
    }
    return NULL;
}

static void add_token(tk_cuts *cuts, const uint8_t *token, size_t n) {
    for (size_t i = 1; i < n; i++) {
        if (tk_is_continuation(token[i])) continue; /* no boundary of characters */
        const uint8_t *before = whole_before(token, i);
        unsigned length = tk_utf8_length(token[i]);
        int whole = before && i + length <= n;
        for (unsigned k = 1; whole && k < length; k++) whole = tk_is_continuation(token[i + k]);
        if (whole) {
            uint32_t c = tk_utf8_decode(before, &length), d = tk_utf8_decode(token + i, &length);
            tk_set_bit(cuts->bigrams, tk_bigram_place(tk_bigram_left(c), tk_bigram_right(d)));
        } else {
            tk_set_bit(cuts->byte_bigrams, (size_t)token[i - 1] << 8 | token[i]);
        }
    }
}

int tk_cuts_build(tk_bpe *model) {
    tk_cuts *cuts = &model->cuts;
    cuts->bigrams = tk_calloc((size_t)1 << TK_BIGRAM_BITS >> 3, 1);
    cuts->byte_bigrams = tk_calloc(65536 / 8, 1);
    if (!cuts->bigrams || !cuts->byte_bigrams) return TK_NO_MEMORY;
    cuts->unconditional = !model->whole_piece || !model->unreachable;
    for (uint32_t t = 256; t < model->n; t++)
        if (model->left[t] != TK_NONE) add_token(cuts, model->bytes[t], model->length[t]);
    return TK_OK;
}
