/* Bytes: the id of a byte is its value and a constant, as for ByT5. The vocabulary is not looked at. */
#include "encode/model.h"

static int encode_ids(const tk_model *m, const uint8_t *bytes, size_t n, uint32_t *ids, size_t *count) {
    const uint32_t first = m->first_byte;
    for (size_t i = 0; i < n; i++) ids[i] = first + bytes[i];
    *count = n;
    return TK_OK;
}

static int encode(const tk_model *m, tk_model_worker *w, const uint8_t *bytes, size_t n) {
    int status = tk_reserve(&w->subs, &w->subs_capacity, n, sizeof(tk_sub));
    for (size_t i = 0; i < n && status == TK_OK; i++) status = tk_sub_add(w, m->first_byte + bytes[i], i, i + 1);
    return status;
}

int tk_bytes_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit) {
    (void)own;
    *culprit = -1;
    m->unknown = TK_NO_ID;
    m->first_byte = o->first_byte;
    m->encode = encode;
    m->encode_ids = encode_ids;
    m->uncached = 1;
    m->by_bytes = 1;
    return TK_OK;
}
