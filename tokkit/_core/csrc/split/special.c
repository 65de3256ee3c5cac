/* A trie of special tokens and the search with it: see special.h. */
#include "split/special.h"

static int new_node(tk_special *s, uint8_t byte, uint32_t *node) {
    if (s->n_nodes >= UINT32_MAX - 1) return TK_TOO_LARGE;
    int status = tk_reserve(&s->nodes, &s->capacity, s->n_nodes + 1, sizeof *s->nodes);
    if (status != TK_OK) return status;
    *node = (uint32_t)s->n_nodes++;
    s->nodes[*node] = (tk_special_node){0, 0, UINT32_MAX, byte};
    return TK_OK;
}

static uint32_t child_of(const tk_special *s, uint32_t node, uint8_t byte) {
    uint32_t child = s->nodes[node].child;
    while (child && s->nodes[child].byte != byte) child = s->nodes[child].sibling;
    return child;
}

int tk_special_init(tk_special *s) {
    uint32_t root;
    memset(s, 0, sizeof *s);
    return new_node(s, 0, &root);
}

void tk_special_free(tk_special *s) {
    free(s->nodes);
    memset(s, 0, sizeof *s);
}

int tk_special_add(tk_special *s, const uint8_t *bytes, size_t n, uint32_t id) {
    uint32_t node = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t child = i ? child_of(s, node, bytes[i]) : s->first[bytes[0]];
        if (!child) {
            int status = new_node(s, bytes[i], &child);
            if (status != TK_OK) return status;
            if (i) {
                s->nodes[child].sibling = s->nodes[node].child;
                s->nodes[node].child = child;
            } else {
                s->first[bytes[0]] = child;
                s->n_first++;
                s->only = bytes[0];
            }
        }
        node = child;
    }
    s->nodes[node].id = id;
    if (n > s->longest) s->longest = n;
    return TK_OK;
}

int tk_special_find(const tk_special *s, const uint8_t *text, size_t n, size_t from, size_t *start, size_t *end,
                    uint32_t *id) {
    if (!s->n_first) return 0;
    for (size_t i = from; i < n; i++) {
        if (s->n_first == 1) { /* the usual case, all of them start with "<": let memchr skip */
            const uint8_t *p = memchr(text + i, s->only, n - i);
            if (!p) return 0;
            i = (size_t)(p - text);
        }
        uint32_t node = s->first[text[i]], found = UINT32_MAX;
        for (size_t k = i + 1; node; k++) {
            if (s->nodes[node].id != UINT32_MAX) found = s->nodes[node].id, *end = k;
            node = k < n ? child_of(s, node, text[k]) : 0;
        }
        if (found != UINT32_MAX) return *start = i, *id = found, 1;
    }
    return 0;
}

int tk_special_spans(const tk_special *s, const uint8_t *text, size_t n, size_t at, int beside) {
    size_t last = beside && at < n ? at + 1 : at, least = beside ? at : at + 1;
    for (size_t i = at > s->longest ? at - s->longest : 0; i < last; i++) {
        uint32_t node = s->first[text[i]];
        for (size_t k = i + 1; node; k++) {
            if (k >= least && s->nodes[node].id != UINT32_MAX) return 1;
            node = k < n ? child_of(s, node, text[k]) : 0;
        }
    }
    return 0;
}
