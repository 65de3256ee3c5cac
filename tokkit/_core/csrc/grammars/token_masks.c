/* Walks of the trie of tokens: see token_masks.h.

   Inside a JSON string nearly all tokens are allowed, and most of them are plain. So they are in tries of their own:
   if the machine says that any plain text may follow, all of their bits are taken at once, and so are those of a
   branch that is as short as what may follow. Only tokens with quotes and parts of characters, one in thirty, are
   walked each time. */
#include "grammars/token_masks.h"
#include <math.h>

enum { FEW = 64, BRANCH = 8 }; /* one token in FEW is kept as an id; nodes of a branch that is worth a look */

static void set_ids(uint8_t *bits, const uint32_t *ids, size_t n) {
    for (size_t k = 0; k < n; k++) bits[ids[k] >> 3] |= (uint8_t)(1u << (ids[k] & 7));
}

static int walk(tk_machine *m, const tk_sorted_trie *trie, uint32_t state, uint8_t *bits) {
    const unsigned width = m->network->n_classes;
    const uint8_t *class_of = m->network->class_of;
    uint32_t *states = tk_alloc(trie->max_depth + 1, sizeof *states);
    if (!states) return TK_NO_MEMORY;
    states[0] = state;
    for (size_t i = 0; i < trie->n_nodes;) {
        const tk_trie_node node = trie->nodes[i];
        unsigned class_ = class_of[node.byte];
        uint32_t next = m->next[(size_t)states[node.depth - 1] * width + class_];
        if (TK_UNLIKELY(next == TK_UNKNOWN)) {
            next = tk_machine_compute(m, states[node.depth - 1], class_);
            if (next == TK_UNKNOWN) {
                free(states);
                return m->status;
            }
        }
        if (next == TK_DEAD) {
            i = node.after;
            continue;
        }
        if (node.plain != 255 && node.after - i >= BRANCH) {
            unsigned plain = tk_machine_plain(m, next);
            if (plain == TK_PLAIN_UNKNOWN) {
                free(states);
                return m->status;
            }
            if (plain >= node.plain) {
                set_ids(bits, trie->ids + node.token, trie->nodes[node.after].token - node.token);
                i = node.after;
                continue;
            }
        }
        set_ids(bits, trie->ids + node.token, trie->nodes[i + 1].token - node.token);
        states[node.depth] = next;
        i++;
    }
    free(states);
    return TK_OK;
}

static int compute(tk_machine *m, const tk_token_tries *tries, uint32_t state, uint8_t *bits) {
    memset(bits, 0, tk_mask_bytes(tries->n_bits));
    for (size_t g = 0; g < TK_TOKEN_GROUPS; g++) {
        const tk_sorted_trie *trie = &tries->groups[g];
        if (trie->plain != 255) {
            unsigned plain = tk_machine_plain(m, state);
            if (plain == TK_PLAIN_UNKNOWN) return m->status;
            if (plain >= trie->plain) {
                for (size_t k = 0; k < tk_mask_bytes(tries->n_bits); k++) bits[k] |= trie->bits[k];
                continue;
            }
        }
        int status = walk(m, trie, state, bits);
        if (status) return status;
    }
    return TK_OK;
}

static int keep_set(tk_machine *m, tk_token_set *set, const uint8_t *bits, size_t n_bits) {
    size_t n = 0, n_bytes = tk_mask_bytes(n_bits), k = 0;
    uint32_t *ids = tk_alloc(n_bits / FEW + 1, sizeof *ids);
    if (!ids) return TK_NO_MEMORY;
    for (; k < n_bytes && n + 8 <= n_bits / FEW; k++)
        for (unsigned b = bits[k]; b; b &= b - 1) ids[n++] = (uint32_t)(k * 8 + tk_lowest_bit(b));
    if (k == n_bytes) {
        uint32_t *fitting = realloc(ids, (n ? n : 1) * sizeof *ids);
        *set = (tk_token_set){.ids = fitting ? fitting : ids, .n_ids = n};
        m->set_bytes += n * sizeof *ids;
        return TK_OK;
    }
    free(ids);
    set->bits = tk_alloc(n_bytes, 1);
    if (!set->bits) return TK_NO_MEMORY;
    memcpy(set->bits, bits, n_bytes);
    m->set_bytes += n_bytes;
    return TK_OK;
}

int tk_allowed_tokens(tk_machine *m, const tk_token_tries *tries, uint32_t state, int first, uint8_t *bits) {
    const tk_token_set *set = first ? &m->allowed_first : &m->states[state].allowed;
    size_t n_bytes = tk_mask_bytes(tries->n_bits);
    if (set->bits) {
        memcpy(bits, set->bits, n_bytes);
        return TK_OK;
    }
    if (set->ids) {
        memset(bits, 0, n_bytes);
        set_ids(bits, set->ids, set->n_ids);
        return TK_OK;
    }
    int status = compute(m, tries, state, bits);
    if (status) return status;
    /* What was computed may have moved the states. */
    return keep_set(m, first ? &m->allowed_first : &m->states[state].allowed, bits, tries->n_bits);
}

void tk_mask_logits(float *logits, size_t n, const uint8_t *bits, size_t n_bits) {
    size_t i = 0, within = n < n_bits ? n : n_bits;
    for (; i + 8 <= within; i += 8) {
        unsigned byte = bits[i >> 3];
        if (byte == 255) continue;
        for (unsigned b = 0; b < 8; b++) logits[i + b] = byte >> b & 1 ? logits[i + b] : -INFINITY;
    }
    for (; i < within; i++)
        if (!tk_has_bit(bits, i)) logits[i] = -INFINITY;
    for (; i < n; i++) logits[i] = -INFINITY;
}
