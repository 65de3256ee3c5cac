/* Building the tables of a BPE model: see bpe_model.h. */
#include "encode/bpe_model.h"

#include "encode/bpe_backtrack.h"
#include "encode/bpe_merge.h"

static void add_pair(tk_bpe *m, uint32_t a, uint32_t b, uint32_t result) {
    m->left[result] = a;
    m->right[result] = b;
    if ((a | b) < 256) {
        m->byte_pairs[a << 8 | b] = result;
        return;
    }
    uint64_t hash = tk_pair_hash(a, b);
    size_t slot = (size_t)(hash >> m->pair_shift);
    while (m->pairs[slot] != UINT64_MAX) slot = (slot + 1) & m->pair_mask;
    m->pairs[slot] = (uint64_t)a << (2 * TK_NUMBER_BITS) | (uint64_t)b << TK_NUMBER_BITS | result;
    tk_set_bit(m->pair_filter, (size_t)(hash >> (64 - TK_FILTER_BITS)));
}

static int allocate(tk_bpe *m, size_t n) {
    unsigned bits = 10;
    while (((size_t)1 << bits) < n + n / 4) bits++;
    m->n = (uint32_t)n;
    m->pair_shift = 64 - bits;
    m->pair_mask = ((size_t)1 << bits) - 1;
    m->id = tk_alloc(n, sizeof *m->id);
    m->left = tk_alloc(n, sizeof *m->left);
    m->right = tk_alloc(n, sizeof *m->right);
    m->bytes = tk_calloc(n, sizeof *m->bytes);
    m->length = tk_calloc(n, sizeof *m->length);
    m->byte_pairs = tk_alloc(65536, sizeof *m->byte_pairs);
    m->pairs = tk_alloc((size_t)1 << bits, sizeof *m->pairs);
    m->pair_filter = tk_calloc((size_t)1 << TK_FILTER_BITS >> 3, 1);
    if (!m->id || !m->left || !m->right || !m->bytes || !m->length || !m->byte_pairs || !m->pairs ||
        !m->pair_filter)
        return TK_NO_MEMORY;
    memset(m->left, 0xFF, n * sizeof *m->left);
    memset(m->right, 0xFF, n * sizeof *m->right);
    memset(m->byte_pairs, 0xFF, 65536 * sizeof *m->byte_pairs);
    memset(m->pairs, 0xFF, ((size_t)1 << bits) * sizeof *m->pairs);
    return TK_OK;
}

static size_t token_length(const tk_vocabulary *v, size_t id) { return (size_t)(v->offsets[id + 1] - v->offsets[id]); }

static void set_token(tk_bpe *m, const tk_vocabulary *v, uint32_t number, uint32_t id) {
    m->id[number] = id;
    m->bytes[number] = v->blob + v->offsets[id];
    m->length[number] = (uint32_t)token_length(v, id);
}

#define FOUR(b) (b), (b) + 1, (b) + 2, (b) + 3
#define SIXTEEN(b) FOUR(b), FOUR((b) + 4), FOUR((b) + 8), FOUR((b) + 12)
#define SIXTY_FOUR(b) SIXTEEN(b), SIXTEEN((b) + 16), SIXTEEN((b) + 32), SIXTEEN((b) + 48)
static const uint8_t EVERY_BYTE[256] = {SIXTY_FOUR(0), SIXTY_FOUR(64), SIXTY_FOUR(128), SIXTY_FOUR(192)};

/* Numbers 0-255, and the numbers of single bytes among the ids. A byte that is dropped keeps its number while its
   pretoken is merged, so that nothing merges across it. */
static int number_bytes(tk_bpe *m, const tk_vocabulary *v, uint32_t *number_of, size_t *culprit) {
    for (size_t id = v->n_ids; id-- > 0;)
        if (!v->special[id] && token_length(v, id) == 1) {
            uint8_t byte = v->blob[v->offsets[id]];
            set_token(m, v, byte, (uint32_t)id);
            number_of[id] = byte;
        }
    for (size_t byte = 0; byte < 256; byte++) {
        if (m->bytes[byte]) continue;
        if (!v->drops_unknown) return *culprit = byte, TK_BAD_INPUT;
        m->id[byte] = TK_NONE;
        m->bytes[byte] = EVERY_BYTE + byte;
        m->length[byte] = 1;
    }
    return TK_OK;
}

/* Ids of tokens of two bytes and more, the shortest first (equal lengths in order of id). */
static int by_length(const tk_vocabulary *v, const uint8_t *wanted, uint32_t **order, size_t *count) {
    size_t longest = 1, n = 0;
    for (size_t id = 0; id < v->n_ids; id++)
        if (wanted[id] && token_length(v, id) > longest) longest = token_length(v, id);
    size_t *start = tk_calloc(longest + 2, sizeof *start);
    *order = tk_alloc(v->n_ids, sizeof **order);
    if (!start || !*order) return free(start), TK_NO_MEMORY;
    for (size_t id = 0; id < v->n_ids; id++)
        if (wanted[id]) start[token_length(v, id) + 1]++, n++;
    for (size_t k = 1; k < longest + 2; k++) start[k] += start[k - 1];
    for (size_t id = 0; id < v->n_ids; id++)
        if (wanted[id]) (*order)[start[token_length(v, id)]++] = (uint32_t)id;
    free(start);
    *count = n;
    return TK_OK;
}

/* The listed merges, (left id, right id) → place in the list; the last place of a pair counts. */
typedef struct {
    uint64_t *keys;
    uint32_t *places;
    size_t mask;
} merge_list;

static size_t merge_slot(const merge_list *list, uint64_t key) {
    size_t slot = tk_mix64(key) & list->mask;
    while (list->keys[slot] != UINT64_MAX && list->keys[slot] != key) slot = (slot + 1) & list->mask;
    return slot;
}

static int read_merges(merge_list *list, const tk_vocabulary *v, uint8_t *wanted, size_t *culprit) {
    size_t slots = 64;
    while (slots < 2 * v->n_merges) slots *= 2;
    list->mask = slots - 1;
    list->keys = tk_alloc(slots, sizeof *list->keys);
    list->places = tk_alloc(slots, sizeof *list->places);
    if (!list->keys || !list->places) return TK_NO_MEMORY;
    memset(list->keys, 0xFF, slots * sizeof *list->keys);
    for (size_t k = 0; k < v->n_merges; k++) {
        const uint32_t *merge = v->merges + 3 * k;
        for (int side = 0; side < 3; side++)
            if (merge[side] >= v->n_ids) return *culprit = 256 + k, TK_BAD_INPUT;
        size_t a = token_length(v, merge[0]), b = token_length(v, merge[1]);
        const uint8_t *joined = v->blob + v->offsets[merge[2]];
        if (!a || !b || token_length(v, merge[2]) != a + b || memcmp(joined, v->blob + v->offsets[merge[0]], a) ||
            memcmp(joined + a, v->blob + v->offsets[merge[1]], b))
            return *culprit = 256 + k, TK_BAD_INPUT;
        size_t slot = merge_slot(list, (uint64_t)merge[0] << 32 | merge[1]);
        list->keys[slot] = (uint64_t)merge[0] << 32 | merge[1];
        list->places[slot] = (uint32_t)k;
        wanted[merge[2]] = 1;
    }
    return TK_OK;
}

/* Give each token its canonical pair: merge its bytes with the pairs of all shorter tokens. */
static int find_pairs(tk_bpe *m, const tk_vocabulary *v, const merge_list *list, const uint32_t *order,
                      size_t count, uint32_t *number_of) {
    tk_merger merger = {0};
    int status = TK_OK;
    for (size_t k = 0; k < count && status == TK_OK; k++) {
        uint32_t id = order[k], *symbols;
        size_t n;
        status = tk_merge(m, &merger, v->blob + v->offsets[id], token_length(v, id), &symbols, &n);
        if (status != TK_OK || n != 2) continue;
        uint32_t number = number_of[id];
        if (list) {
            if (m->id[symbols[0]] == TK_NONE || m->id[symbols[1]] == TK_NONE) continue;
            uint64_t key = (uint64_t)m->id[symbols[0]] << 32 | m->id[symbols[1]];
            size_t slot = merge_slot(list, key);
            if (list->keys[slot] != key || v->merges[3 * (size_t)list->places[slot] + 2] != id) continue;
            number = number_of[id] = 256 + list->places[slot];
            set_token(m, v, number, id);
        }
        add_pair(m, symbols[0], symbols[1], number);
        if (symbols[0] >= number || symbols[1] >= number) m->monotone = 0;
    }
    tk_merger_free(&merger);
    return status;
}

/* Sort the tokens that have a pair into buckets; `order` has them by length. */
static int sort_into_buckets(tk_bpe *m, const uint32_t *order, size_t count, const uint32_t *number_of) {
    uint32_t start[TK_BUCKETS + 1] = {0};
    m->by_bucket = tk_alloc(count, sizeof *m->by_bucket);
    if (!m->by_bucket) return TK_NO_MEMORY;
    for (int fill = 0; fill < 2; fill++) {
        for (size_t k = 0; k < count; k++) {
            uint32_t t = number_of[order[k]];
            if (t == TK_NONE || m->left[t] == TK_NONE) continue;
            unsigned bucket = tk_bucket(m->bytes[t], m->length[t]);
            if (fill) m->by_bucket[start[bucket]++] = t;
            else start[bucket + 1]++;
        }
        if (fill) break;
        for (size_t bucket = 0; bucket < TK_BUCKETS; bucket++) start[bucket + 1] += start[bucket];
        memcpy(m->bucket, start, sizeof start);
    }
    return TK_OK;
}

/* Numbers rise, so that the first is the least. Without these tables nothing is merged at once. */
static int set_least(tk_bpe *m) {
    enum { PAIRS = 1 << 16 };
    if (!m->monotone) return TK_OK;
    m->least_before = tk_alloc(PAIRS, sizeof *m->least_before);
    m->least_behind = tk_alloc(PAIRS, sizeof *m->least_behind);
    m->least_before_two = tk_alloc(PAIRS, sizeof *m->least_before_two);
    if (!m->least_before || !m->least_behind || !m->least_before_two) return TK_NO_MEMORY;
    memset(m->least_before_two, 0xFF, PAIRS * sizeof *m->least_before_two);
    memset(m->least_before, 0xFF, PAIRS * sizeof *m->least_before);
    memset(m->least_behind, 0xFF, PAIRS * sizeof *m->least_behind);
    for (uint32_t t = 256; t < m->n; t++) {
        uint32_t left = m->left[t], right = m->right[t];
        if (left == TK_NONE) continue;
        const uint8_t last = m->bytes[left][m->length[left] - 1], *first = m->bytes[right];
        uint32_t *before = NULL, *behind = left < 256 ? m->least_behind + ((size_t)left << 8 | first[0]) : NULL;
        if (right < 256) before = m->least_before + ((size_t)last << 8 | right);
        else if (m->length[right] == 2 && first[0] >> 4 == 0xE && first[1] >> 6 == 2 && last >> 6 == 2)
            before = m->least_before_two + tk_before_two(first, last);
        if (before && *before == TK_NONE) *before = t;
        if (behind && *behind == TK_NONE) *behind = t;
    }
    return TK_OK;
}

static int build(tk_bpe *m, const tk_vocabulary *v, size_t *culprit, uint32_t *number_of, uint8_t *wanted,
                 merge_list *list, uint32_t **order) {
    size_t multi = 0, count, n;
    int status;
    for (size_t id = 0; id < v->n_ids; id++) multi += !v->special[id] && token_length(v, id) > 1;
    n = 256 + (v->merges ? v->n_merges : 0) + multi; /* listed merges first, then tokens that none makes */
    if (n > TK_MAX_TOKENS) return TK_TOO_LARGE;
    if ((status = allocate(m, n)) || (status = number_bytes(m, v, number_of, culprit))) return status;
    uint32_t next = 256 + (uint32_t)(v->merges ? v->n_merges : 0);
    if (v->merges) {
        if ((status = read_merges(list, v, wanted, culprit))) return status;
    } else {
        for (size_t id = 0; id < v->n_ids; id++)
            if ((wanted[id] = !v->special[id] && token_length(v, id) > 1)) {
                set_token(m, v, next, (uint32_t)id);
                number_of[id] = next++;
            }
    }
    if ((status = by_length(v, wanted, order, &count))) return status;
    if ((status = find_pairs(m, v, v->merges ? list : NULL, *order, count, number_of))) return status;
    for (size_t id = 0; id < v->n_ids; id++) {
        if (v->special[id] || token_length(v, id) < 2) continue;
        if (v->merges && number_of[id] == TK_NONE) set_token(m, v, next++, (uint32_t)id);
        else if (m->left[number_of[id]] != TK_NONE) continue;
        m->unreachable++;
    }
    m->n = next;
    if ((status = sort_into_buckets(m, *order, count, number_of)) || (status = set_least(m))) return status;
    return tk_cuts_build(m);
}

int tk_bpe_build(tk_bpe *m, const tk_vocabulary *v, size_t *culprit) {
    memset(m, 0, sizeof *m);
    m->whole_piece = v->whole_piece;
    m->monotone = 1;
    merge_list list = {0};
    uint32_t *order = NULL, *number_of = tk_alloc(v->n_ids, sizeof *number_of);
    uint8_t *wanted = tk_calloc(v->n_ids, 1);
    int status = TK_NO_MEMORY;
    if (number_of && wanted) {
        memset(number_of, 0xFF, v->n_ids * sizeof *number_of);
        status = build(m, v, culprit, number_of, wanted, &list, &order);
    }
    free(number_of);
    free(wanted);
    free(order);
    free(list.keys);
    free(list.places);
    if (status != TK_OK) tk_bpe_free(m);
    return status;
}

void tk_bpe_free(tk_bpe *m) {
    free(m->id);
    free(m->left);
    free(m->right);
    free(m->bytes);
    free(m->length);
    free(m->byte_pairs);
    free(m->least_before);
    free(m->least_behind);
    free(m->least_before_two);
    free(m->pairs);
    free(m->pair_filter);
    free(m->cuts.bigrams);
    free(m->cuts.byte_bigrams);
    free(m->by_bucket);
    for (size_t bucket = 0; bucket < TK_BUCKETS; bucket++) tk_trie_free(m->tries[bucket]);
    memset(m, 0, sizeof *m);
}
