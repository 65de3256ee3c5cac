/* One step of sentencepiece's normalizer: see sp_engine.h. */
#include "sentencepiece/sp_engine.h"

/* The longest token of a trie that p[0:n] begins with: its length, or 0. */
static size_t longest(const tk_token_trie *trie, const uint8_t *p, size_t n) {
    size_t found = 0;
    uint64_t node = trie->root;
    for (size_t i = 0; i < n && node;) {
        node = tk_trie_step(trie, node, p[i++]);
        if (node && tk_trie_id(node) != TK_NO_ID) found = i;
    }
    return found;
}

size_t tk_sp_replaced(const tk_sp *m, const uint8_t *text, size_t n, size_t at, const uint8_t **put, size_t *n_put) {
    const uint8_t *p = text + at;
    size_t taken = m->users.root ? longest(&m->users, p, n - at) : 0;
    *put = p;
    if (taken) return *n_put = taken;
    size_t place = SIZE_MAX;
    if (m->has_map) {
        size_t node = tk_charsmap_root(&m->map);
        for (size_t i = 0; at + i < n;) {
            int leaf;
            node = tk_charsmap_child(&m->map, node, p[i++], &leaf);
            if (node == SIZE_MAX) break;
            /* A map may have half a character, which is never replaced: what is left would be no text. */
            if (leaf && (at + i == n || !tk_is_continuation(p[i])))
                taken = i, place = m->map.units[node] & ~UINT32_C(0x80000000);
        }
    }
    if (!taken) return *n_put = tk_sp_length(*p, n - at);
    *put = m->map.strings + place;
    *n_put = strlen((const char *)*put);
    return taken;
}

void tk_sp_put(const tk_sp *m, tk_sp_scratch *w, const uint8_t *put, size_t n_put) {
    size_t i = 0;
    while (w->previous && i < n_put && put[i] == ' ') i++;
    if (i == n_put) return;
    w->previous = m->remove_extra && put[n_put - 1] == ' ';
    for (; i < n_put; i++) {
        int symbol = m->escape && n_put - i >= 3 && put[i] == 0xE2 && put[i + 1] == 0x96 && put[i + 2] == 0x81;
        if (w->aligned) w->from[w->n] = (uint32_t)w->at;
        w->text[w->n++] = symbol ? ' ' : put[i];
        i += symbol ? 2 : 0;
    }
}
