/* WordPiece: the longest token at the start of a word, then the longest token that continues it, and so on.

   Tokens inside a word have a prefix ("##") in the vocabulary; a word that tokens cannot cover, or that has too many
   characters, is one unknown token. */
#include "encode/model.h"

static int add_unknown(const tk_model *m, tk_model_worker *w, size_t n) {
    w->n_subs = 0;
    return m->unknown == TK_NO_ID ? TK_UNENCODABLE : tk_sub_add(w, m->unknown, 0, n);
}

static int has_more_characters(const uint8_t *bytes, size_t n, size_t most) {
    if (n <= most) return 0;
    size_t count = 0;
    for (size_t i = 0; i < n; i++) count += !tk_is_continuation(bytes[i]);
    return count > most;
}

static int encode(const tk_model *m, tk_model_worker *w, const uint8_t *bytes, size_t n) {
    if (has_more_characters(bytes, n, m->wordpiece.most_characters)) return add_unknown(m, w, n);
    for (size_t at = 0; at < n;) {
        const tk_token_trie *trie = at ? &m->wordpiece.inner : &m->trie;
        uint64_t node = trie->root;
        uint32_t best = TK_NO_ID;
        size_t end = at, i = at;
        while (i < n && node) {
            node = tk_trie_step(trie, node, bytes[i++]);
            uint32_t id = tk_trie_id(node);
            if (node && id != TK_NO_ID) best = id, end = i;
        }
        tk_work += i - at;
        if (best == TK_NO_ID) return add_unknown(m, w, n);
        int status = tk_sub_add(w, best, at, end);
        if (status != TK_OK) return status;
        at = end;
    }
    return TK_OK;
}

static void free_inner(tk_model *m) { tk_token_trie_free(&m->wordpiece.inner); }

int tk_wordpiece_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit) {
    int status = tk_model_begin(m, own, o, SIZE_MAX, culprit);
    m->encode = encode;
    m->free = free_inner;
    m->wordpiece.most_characters = o->most_characters;
    if (status != TK_OK) return status;
    if (*culprit >= 0) return TK_BAD_INPUT;
    return tk_token_trie_build(&m->wordpiece.inner, own, o->prefix, o->n_prefix, SIZE_MAX, culprit);
}
