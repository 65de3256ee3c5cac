/* Builds the tries of token_masks.h from sorted tokens. */
#include "grammars/token_masks.h"
#include "text/utf8.h"

enum { MOST = 253, WORTH = 8 }; /* more characters are counted as MOST, which only TK_ANY_NUMBER reaches */

_Static_assert(MOST > TK_ANY_MAX && MOST < TK_ANY_UNKNOWN, "only TK_ANY_NUMBER reaches it");

typedef struct {
    const uint8_t *bytes;
    size_t n;
    uint32_t id;
    uint8_t group;
} sorted_token;

/* How many plain characters a token is, or -1 for one that is something else too. */
static long plain_characters(const uint8_t *p, size_t n) {
    long count = 0;
    if (tk_utf8_invalid(p, n) < n) return -1;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < 0x20 || p[i] == '"' || p[i] == '\\') return -1;
        count += (p[i] & 0xC0) != 0x80;
    }
    return count;
}

static int is_letter(uint8_t byte) { return (byte | 32) >= 'a' && (byte | 32) <= 'z'; }

/* For each node of plain tokens, how many characters the longest token below has after it, and the same for letters if
   it has no others; 255 inside a character. */
static void count_kinds(tk_sorted_trie *trie) {
    for (size_t i = trie->n_nodes; i--;) {
        tk_trie_node *node = &trie->nodes[i];
        unsigned most = 0, letters = 0;
        for (size_t child = i + 1; child < node->after; child = trie->nodes[child].after) {
            const tk_trie_node *below = &trie->nodes[child];
            /* Where a character goes on, its first byte has counted it. */
            unsigned n = below->any[TK_PLAIN] + !tk_is_continuation(below->byte);
            most = n > most ? n : most;
            n = is_letter(below->byte) && below->any[TK_LETTERS] < MOST ? below->any[TK_LETTERS] + 1u : 255;
            letters = n > letters ? n : letters;
        }
        node->any[TK_PLAIN] = (uint8_t)(most < MOST ? most : MOST);
        node->any[TK_LETTERS] = (uint8_t)letters;
        node->few = trie->nodes[node->after].token - node->token < WORTH;
        if (node->depth == 1 && node->any[TK_PLAIN] + 1u > trie->plain) trie->plain = node->any[TK_PLAIN] + 1u;
    }
    for (size_t i = 0; i < trie->n_nodes; i++) {
        int inside = i + 1 < trie->nodes[i].after && tk_is_continuation(trie->nodes[i + 1].byte);
        if (inside) trie->nodes[i].any[TK_PLAIN] = 255;
    }
}

static size_t shared_prefix(const sorted_token *a, const sorted_token *b) {
    size_t n = a->n < b->n ? a->n : b->n, k = 0;
    while (k < n && a->bytes[k] == b->bytes[k]) k++;
    return k;
}

static int build(tk_sorted_trie *trie, const sorted_token *tokens, size_t n, unsigned group, size_t n_bits) {
    size_t n_nodes = 0, count = 0, capacity = 0;
    const sorted_token *before = NULL;
    uint32_t *path = NULL; /* the nodes that the token at hand passes */
    size_t path_capacity = 0;
    trie->plain = group < 2 ? 0 : 255;
    for (size_t t = 0; t < n; t++) count += tokens[t].group == group;
    trie->ids = tk_calloc(count + 1, sizeof *trie->ids);
    trie->bits = tk_calloc(tk_mask_bytes(n_bits), 1);
    if (!trie->ids || !trie->bits) return TK_NO_MEMORY;
    for (size_t t = 0; t < n; t++) {
        if (tokens[t].group != group) continue;
        size_t shared = before ? shared_prefix(before, &tokens[t]) : 0;
        TK_ASSERT(tokens[t].id < n_bits && tokens[t].n <= UINT16_MAX);
        TK_ASSERT(!before || shared == before->n || /* sorted */
                  (shared < tokens[t].n && before->bytes[shared] < tokens[t].bytes[shared]));
        for (size_t d = before ? before->n : 0; d-- > shared;) trie->nodes[path[d]].after = (uint32_t)n_nodes;
        if (tk_reserve(&path, &path_capacity, tokens[t].n, sizeof *path) ||
            tk_reserve(&trie->nodes, &capacity, n_nodes + tokens[t].n + 1, sizeof *trie->nodes)) {
            free(path);
            return TK_NO_MEMORY;
        }
        for (size_t d = shared; d < tokens[t].n; d++) {
            path[d] = (uint32_t)n_nodes;
            trie->nodes[n_nodes++] = (tk_trie_node){.byte = tokens[t].bytes[d],
                                                    .any = {255, 255},
                                                    .few = 1,
                                                    .depth = (uint16_t)(d + 1),
                                                    .token = (uint32_t)trie->n_ids};
        }
        if (tokens[t].n > trie->max_depth) trie->max_depth = (unsigned)tokens[t].n;
        trie->ids[trie->n_ids++] = tokens[t].id;
        tk_set_bit(trie->bits, tokens[t].id);
        before = &tokens[t];
    }
    for (size_t d = before ? before->n : 0; d-- > 0;) trie->nodes[path[d]].after = (uint32_t)n_nodes;
    free(path);
    if (!trie->nodes && tk_reserve(&trie->nodes, &capacity, 1, sizeof *trie->nodes)) return TK_NO_MEMORY;
    trie->nodes[n_nodes] = (tk_trie_node){.after = (uint32_t)n_nodes, .token = (uint32_t)trie->n_ids};
    trie->n_nodes = n_nodes;
    TK_ASSERT(trie->n_ids == count);
    if (group < 2) count_kinds(trie);
    return TK_OK;
}

int tk_token_tries_build(tk_token_tries *tries, const uint8_t *blob, const int64_t *offsets, const uint32_t *ids,
                         size_t n, size_t n_bits) {
    int status = TK_OK;
    memset(tries, 0, sizeof *tries);
    tries->n_bits = n_bits;
    sorted_token *tokens = tk_alloc(n, sizeof *tokens);
    if (!tokens) return TK_NO_MEMORY;
    size_t kept = 0;
    for (size_t t = 0; t < n && !status; t++) {
        size_t length = (size_t)(offsets[t + 1] - offsets[t]);
        TK_ASSERT(offsets[t] <= offsets[t + 1]);
        if (!length) continue;
        if (length > UINT16_MAX) status = TK_TOO_LARGE;
        long plain = plain_characters(blob + offsets[t], length);
        uint8_t group = plain < 0 ? 2 : plain > TK_ANY_MAX;
        tokens[kept++] = (sorted_token){blob + offsets[t], length, ids[t], group};
    }
    for (unsigned g = 0; g < TK_TOKEN_GROUPS && !status; g++)
        status = build(&tries->groups[g], tokens, kept, g, n_bits);
    free(tokens);
    if (status) tk_token_tries_free(tries);
    return status;
}

/* A node that is being merged; its children are a list. */
typedef struct {
    uint32_t child, next; /* 0 is none */
    uint32_t n_ids, place; /* of its own tokens; where they go */
    uint16_t depth;
    uint8_t byte;
} merged_node;

/* Number the merged nodes of a trie's nodes in `of`, 0 is the root; returns how many there are. */
static size_t merge(const tk_sorted_trie *trie, const uint8_t *class_of, merged_node *made, uint32_t *of,
                    uint32_t *path) {
    size_t n = 1;
    made[0] = (merged_node){0};
    path[0] = 0;
    for (size_t i = 0; i < trie->n_nodes; i++) {
        const tk_trie_node *node = &trie->nodes[i];
        TK_ASSERT(node->depth && node->depth <= trie->max_depth && node[1].token >= node->token);
        merged_node *parent = &made[path[node->depth - 1]];
        uint32_t found = parent->child;
        while (found && class_of[made[found].byte] != class_of[node->byte]) found = made[found].next;
        if (!found) {
            found = (uint32_t)n++;
            made[found] = (merged_node){.next = parent->child, .depth = node->depth, .byte = node->byte};
            parent->child = found;
        }
        of[i] = path[node->depth] = found;
        made[found].n_ids += node[1].token - node->token;
    }
    return n;
}

/* Write the merged nodes in the order of a walk; `waiting` has room for all. */
static void write_merged(merged_node *made, uint32_t *waiting, tk_sorted_trie *to) {
    size_t n_waiting = 0, n = 0, token = 0;
    for (uint32_t child = made[0].child; child; child = made[child].next) waiting[n_waiting++] = child;
    while (n_waiting) {
        merged_node *node = &made[waiting[--n_waiting]];
        to->nodes[n++] = (tk_trie_node){
            .byte = node->byte, .any = {255, 255}, .few = 1, .depth = node->depth, .token = (uint32_t)token};
        node->place = (uint32_t)token;
        token += node->n_ids;
        for (uint32_t child = node->child; child; child = made[child].next) waiting[n_waiting++] = child;
    }
    TK_ASSERT(token == to->n_ids);
    to->nodes[n] = (tk_trie_node){.after = (uint32_t)n, .token = (uint32_t)token};
    to->n_nodes = n;
    for (size_t i = n; i--;) {
        size_t after = i + 1;
        while (after < n && to->nodes[after].depth > to->nodes[i].depth) after = to->nodes[after].after;
        to->nodes[i].after = (uint32_t)after;
    }
}

tk_sorted_trie *tk_trie_merge(const tk_sorted_trie *trie, const uint8_t *class_of) {
    merged_node *made = tk_alloc(trie->n_nodes + 1, sizeof *made);
    uint32_t *of = tk_alloc(2 * trie->n_nodes + trie->max_depth + 2, sizeof *of);
    uint32_t *waiting = of ? of + trie->n_nodes : NULL, *path = of ? waiting + trie->n_nodes + 1 : NULL;
    tk_sorted_trie *to = NULL;
    if (made && of) {
        size_t n = merge(trie, class_of, made, of, path);
        size_t ids = sizeof *to + n * sizeof *to->nodes;
        to = tk_calloc(ids + (trie->n_ids + 1) * sizeof *to->ids, 1);
    }
    if (to) {
        *to = (tk_sorted_trie){.n_ids = trie->n_ids, .plain = trie->plain, .max_depth = trie->max_depth};
        to->nodes = (tk_trie_node *)(to + 1);
        write_merged(made, waiting, to);
        to->ids = (uint32_t *)(to->nodes + to->n_nodes + 1);
        for (size_t i = 0; i < trie->n_nodes; i++)
            for (uint32_t t = trie->nodes[i].token; t < trie->nodes[i + 1].token; t++)
                to->ids[made[of[i]].place++] = trie->ids[t];
    }
    free(made);
    free(of);
    return to;
}

void tk_token_tries_free(tk_token_tries *tries) {
    for (unsigned g = 0; g < TK_TOKEN_GROUPS; g++) {
        free(tries->groups[g].nodes);
        free(tries->groups[g].ids);
        free(tries->groups[g].bits);
    }
    memset(tries, 0, sizeof *tries);
}
