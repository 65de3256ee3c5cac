/* Traverses the tries of tokens: see token_masks.h.

   Inside a JSON string nearly all tokens are allowed, and most of them are plain. So they are in tries of their own:
   if the machine says that any plain text may follow, all of their bits are taken at once, and so are those of a
   branch that is as short as what may follow. Only tokens with quotes and parts of characters, one in thirty, are
   walked each time, in a trie of the classes of their bytes: a grammar with few of them has few nodes to walk. */
#include "grammars/token_masks.h"
#include <math.h>

enum { FEW = 64 }; /* one token in FEW is kept as an id */

static void set_ids(uint8_t *bits, const uint32_t *ids, size_t n) {
    for (size_t k = 0; k < n; k++) bits[ids[k] >> 3] |= (uint8_t)(1u << (ids[k] & 7));
}

/* Whether a state allows all that the tokens below a node go on with: 1, 0, or -1 where machine->status says why. */
static int allows_all(tk_machine *m, const tk_trie_node *node, uint32_t state) {
    for (unsigned kind = TK_KINDS; kind--;) {
        if (node->any[kind] > TK_ANY_MAX) continue;
        unsigned any = tk_machine_any(m, state, kind);
        if (any == TK_ANY_UNKNOWN) return -1;
        if (any >= node->any[kind]) return 1;
    }
    return 0;
}

static int walk(tk_machine *m, const tk_sorted_trie *trie, uint32_t state, uint8_t *bits) {
    const unsigned width = m->network->n_classes;
    const uint8_t *class_of = m->network->class_of;
    uint32_t *states = tk_alloc(trie->max_depth + 1, sizeof *states);
    int status = states ? TK_OK : TK_NO_MEMORY;
    size_t n_seen = 0;
    if (states) states[0] = state;
    for (size_t i = 0; !status && i < trie->n_nodes;) {
        const tk_trie_node *node = &trie->nodes[i];
        TK_ASSERT(node->depth && node->depth <= trie->max_depth && node->after > i && node->after <= trie->n_nodes);
        n_seen++;
        unsigned class_ = class_of[node->byte];
        uint32_t next = m->next[(size_t)states[node->depth - 1] * width + class_];
        if (TK_UNLIKELY(next == TK_NOT_COMPUTED)) {
            next = tk_machine_compute(m, states[node->depth - 1], class_);
            if (next == TK_NOT_COMPUTED) {
                status = m->status;
                break;
            }
        }
        if (next == TK_DEAD) {
            i = node->after;
            continue;
        }
        if (!node->few) {
            int all = allows_all(m, node, next);
            if (all < 0) status = m->status;
            if (all > 0) {
                set_ids(bits, trie->ids + node->token, trie->nodes[node->after].token - node->token);
                i = node->after;
                continue;
            }
        }
        /* Every other node ends a token, which no processor foresees: a bit is set in any case, to 0 or 1. */
        uint32_t id = trie->ids[node->token], own = node[1].token - node->token;
        bits[id >> 3] |= (uint8_t)((own != 0) << (id & 7));
        if (TK_UNLIKELY(own > 1)) set_ids(bits, trie->ids + node->token, own);
        states[node->depth] = next;
        i++;
    }
    tk_work += n_seen;
    free(states);
    return status;
}

static int compute(tk_machine *m, const tk_token_tries *tries, uint32_t state, int first, uint8_t *bits) {
    TK_ASSERT(!first || state == m->start);
    memset(bits, 0, tk_mask_bytes(tries->n_bits));
    for (size_t g = 0; g < TK_TOKEN_GROUPS; g++) {
        const tk_sorted_trie *trie = &tries->groups[g];
        if (trie->plain != 255) {
            unsigned any = tk_machine_any(m, state, TK_PLAIN);
            if (any == TK_ANY_UNKNOWN) return m->status;
            if (any >= trie->plain) {
                for (size_t k = 0; k < tk_mask_bytes(tries->n_bits); k++) bits[k] |= trie->bits[k];
                continue;
            }
        }
        if (g == TK_TOKEN_GROUPS - 1) {
            tk_sorted_trie **merged = &m->merged[first != 0];
            if (!*merged && !(*merged = tk_trie_merge(trie, m->network->class_of))) return TK_NO_MEMORY;
            trie = *merged;
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
    TK_ASSERT(n <= n_bits / FEW + 1 && !set->bits && !set->ids);
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
    TK_ASSERT(state < m->n_states && (bits || !tries->n_bits));
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
    int status = compute(m, tries, state, first, bits);
    if (status) return status;
    /* What was computed may have moved the states. */
    return keep_set(m, first ? &m->allowed_first : &m->states[state].allowed, bits, tries->n_bits);
}

void tk_mask_logits(float *logits, size_t n, const uint8_t *bits, size_t n_bits) {
    size_t i = 0, within = n < n_bits ? n : n_bits;
    TK_ASSERT((logits || !n) && (bits || !n_bits));
    for (; i + 64 <= within; i += 64) {
        uint64_t masked = 0; /* a bit for each logit that is not allowed */
        for (unsigned k = 0; k < 8; k++) masked |= (uint64_t)(uint8_t)~bits[(i >> 3) + k] << 8 * k;
        if (masked == UINT64_MAX) {
            for (unsigned k = 0; k < 64; k++) logits[i + k] = -INFINITY;
        } else {
            for (; masked; masked &= masked - 1) logits[i + tk_lowest_bit(masked)] = -INFINITY;
        }
    }
    for (; i < within; i++)
        if (!tk_has_bit(bits, i)) logits[i] = -INFINITY;
    for (; i < n; i++) logits[i] = -INFINITY;
}
