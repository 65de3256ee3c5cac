/* Encodes a whole text by a model of words or of characters: see sp_engine.h. */
#include "sentencepiece/sp_engine.h"

/* Where U+2581 stands, which is the one byte 0x20 where spaces are escaped. */
TK_INLINE int is_space(const tk_sp *m, const uint8_t *p, size_t left) {
    if (m->escape) return *p == ' ';
    return left >= 3 && p[0] == 0xE2 && p[1] == 0x96 && p[2] == 0x81;
}

/* A word begins at each space. */
static size_t word_length(const tk_sp *m, const uint8_t *p, size_t n) {
    size_t end = tk_sp_length(*p, n);
    while (end < n && !is_space(m, p + end, n - end)) end += tk_sp_length(p[end], n - end);
    return end;
}

static size_t character_length(const tk_sp *m, const uint8_t *p, size_t n) {
    uint32_t id;
    size_t length = tk_sp_frozen(m, p, n, &id);
    return length ? length : tk_sp_length(*p, n);
}

int tk_sp_look_up(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, size_t n) {
    int status = n < UINT32_MAX ? TK_OK : TK_TOO_LARGE;
    w->n_tokens = 0;
    for (size_t at = 0, length; at < n && status == TK_OK; at += length) {
        length = m->model == TK_SP_WORD ? word_length(m, p + at, n - at) : character_length(m, p + at, n - at);
        uint32_t id = tk_trie_find(&m->trie, p + at, length);
        status = id != TK_NO_ID ? tk_sp_add(w, id, at, at + length) : tk_sp_add_unknown(m, w, p, at, at + length);
    }
    return status;
}
