/* WordLevel: a word is one token, or the unknown token if the vocabulary does not have it. */
#include "encode/model.h"

static int encode(const tk_model *m, tk_model_worker *w, const uint8_t *bytes, size_t n) {
    uint32_t id = tk_trie_find(&m->trie, bytes, n);
    if (id == TK_NO_ID) id = m->unknown;
    return id == TK_NO_ID ? TK_UNENCODABLE : tk_sub_add(w, id, 0, n);
}

int tk_wordlevel_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit) {
    int status = tk_model_begin(m, own, o, SIZE_MAX, culprit);
    m->encode = encode;
    return status == TK_OK && *culprit >= 0 ? TK_BAD_INPUT : status;
}
