/* Longest match: at each place the longest token that the bytes there begin with, as for RWKV's world vocabulary.

   Tokens are any bytes, also parts of a character. A byte that no token begins with is one unknown token. Takes n times
   the longest token at most. */
#include "encode/model.h"

/* The end of the longest token at bytes[at], and its id; an unknown byte ends after itself. */
TK_INLINE size_t longest(const tk_model *m, const uint8_t *bytes, size_t at, size_t n, uint32_t *id) {
    uint64_t node = m->trie.root;
    size_t end = at + 1, i = at;
    *id = m->unknown;
    while (i < n && node && (node = tk_trie_step(&m->trie, node, bytes[i++])) != 0)
        if (tk_trie_id(node) != TK_NO_ID) *id = tk_trie_id(node), end = i;
    tk_work += i - at;
    return end;
}

static int encode_ids(const tk_model *m, const uint8_t *bytes, size_t n, uint32_t *ids, size_t *count) {
    size_t made = 0;
    for (size_t at = 0; at < n; made++) {
        at = longest(m, bytes, at, n, ids + made);
        if (TK_UNLIKELY(ids[made] == TK_NO_ID)) return TK_UNENCODABLE;
    }
    *count = made;
    return TK_OK;
}

static int encode(const tk_model *m, tk_model_worker *w, const uint8_t *bytes, size_t n) {
    uint32_t id;
    int status = TK_OK;
    for (size_t at = 0, end; at < n && status == TK_OK; at = end) {
        end = longest(m, bytes, at, n, &id);
        status = id == TK_NO_ID ? TK_UNENCODABLE : tk_sub_add(w, id, at, end);
    }
    return status;
}

int tk_longest_match_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit) {
    int status = tk_model_begin(m, own, o, SIZE_MAX, culprit);
    m->encode = encode;
    m->encode_ids = encode_ids;
    m->by_bytes = 1;
    return status == TK_OK && *culprit >= 0 ? TK_BAD_INPUT : status;
}
