/* Characters of a unit in, merged tokens out: BPE over characters, the pair of least rank first, then leftmost.

   Short units merge in two small arrays, which is quadratic but local; long ones, those with a prefix (where a merge
   may make what was there before) and those with dropout in a list with a heap, O(n log n). */
#include "large_memory.h"
#include "model.h"

enum { SMALL = 48 };       /* symbols; above, the heap is faster */
enum { FILTER_BITS = 19 }; /* most pairs do not merge, and a filter of 64 KiB knows most of these */
#define NO_LINK UINT32_MAX

/* ---- building */

static uint64_t pair_key(uint32_t left, uint32_t right) { return (uint64_t)left << 32 | right; }

TK_INLINE uint64_t pair_hash(uint64_t key) { return (key ^ key >> 29) * UINT64_C(0x9E3779B97F4A7C15); }

TK_INLINE const tk_ranked_pair *find_pair(const tk_char_bpe *bpe, uint32_t left, uint32_t right) {
    uint64_t key = pair_key(left, right), hash = pair_hash(key);
    if (!tk_has_bit(bpe->pair_filter, (size_t)(hash >> (64 - FILTER_BITS)))) return NULL;
    for (size_t slot = (size_t)(hash >> bpe->pair_shift);; slot = (slot + 1) & bpe->pair_mask) {
        const tk_ranked_pair *pair = bpe->pairs + slot;
        if (pair->key == key) return pair;
        if (pair->key == UINT64_MAX) return NULL;
    }
}

/* Whether the result is left and right joined, without as many bytes of right as the prefix has. */
static int fits(const tk_own_tokens *own, const uint32_t *merge, size_t n_prefix) {
    for (int side = 0; side < 3; side++)
        if (merge[side] >= own->n_ids || !tk_own_length(own, merge[side])) return 0;
    size_t left = tk_own_length(own, merge[0]), right = tk_own_length(own, merge[1]);
    const uint8_t *result = tk_own_bytes(own, merge[2]);
    return right >= n_prefix && tk_own_length(own, merge[2]) == left + right - n_prefix &&
           memcmp(result, tk_own_bytes(own, merge[0]), left) == 0 &&
           memcmp(result + left, tk_own_bytes(own, merge[1]) + n_prefix, right - n_prefix) == 0;
}

/* Whether U+2581 stands behind another character in a token. */
static int holds_inner_blank(const uint8_t *p, size_t n) {
    for (size_t i = 1; i + 2 < n; i++)
        if (p[i] == 0xE2 && p[i + 1] == 0x96 && p[i + 2] == 0x81 &&
            !(i >= 3 && p[i - 3] == 0xE2 && p[i - 2] == 0x96 && p[i - 1] == 0x81))
            return 1;
    return 0;
}

static int read_merges(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit) {
    tk_char_bpe *bpe = &m->bpe;
    size_t slots = 64;
    unsigned bits = 6;
    if (o->n_merges >= UINT32_MAX / 2) return TK_TOO_LARGE;
    while (slots < 2 * o->n_merges) slots *= 2, bits++;
    bpe->pair_mask = slots - 1;
    bpe->pair_shift = 64 - bits;
    bpe->pairs = tk_table_alloc(slots * sizeof *bpe->pairs);
    bpe->pair_filter = tk_calloc((size_t)1 << FILTER_BITS >> 3, 1);
    if (!bpe->pairs || !bpe->pair_filter) return TK_NO_MEMORY;
    memset(bpe->pairs, 0xFF, slots * sizeof *bpe->pairs);
    for (size_t rank = 0; rank < o->n_merges; rank++) {
        const uint32_t *merge = o->merges + 3 * rank;
        if (!fits(own, merge, o->n_prefix)) return *culprit = -1 - (int64_t)rank, TK_BAD_INPUT;
        uint64_t key = pair_key(merge[0], merge[1]);
        uint64_t hash = pair_hash(key);
        size_t slot = (size_t)(hash >> bpe->pair_shift);
        tk_set_bit(bpe->pair_filter, (size_t)(hash >> (64 - FILTER_BITS)));
        while (bpe->pairs[slot].key != key && bpe->pairs[slot].key != UINT64_MAX) slot = (slot + 1) & bpe->pair_mask;
        bpe->pairs[slot] = (tk_ranked_pair){key, (uint32_t)rank, merge[2]}; /* of a pair named twice the last counts */
        if (holds_inner_blank(tk_own_bytes(own, merge[2]), tk_own_length(own, merge[2]))) m->cuts.blanks = 0;
    }
    return TK_OK;
}

/* ---- characters to symbols */

TK_INLINE int add_symbol(tk_model_worker *w, size_t *n, uint32_t id, uint32_t length) {
    if (TK_UNLIKELY(*n == w->symbols_capacity)) {
        int status = tk_reserve(&w->symbols, &w->symbols_capacity, *n + 1, sizeof(tk_symbol));
        if (status != TK_OK) return status;
    }
    w->symbols[(*n)++] = (tk_symbol){id, length};
    return TK_OK;
}

/* The bytes' tokens for all bytes, each of length 1; *made says whether there is one for each. */
static int add_bytes(const tk_model *m, tk_model_worker *w, size_t *n, const uint8_t *bytes, size_t count, int *made) {
    int status = TK_OK;
    for (size_t i = 0; i < count && *made; i++) *made = m->bytes[bytes[i]] != TK_NO_ID;
    for (size_t i = 0; i < count && *made && status == TK_OK; i++) status = add_symbol(w, n, m->bytes[bytes[i]], 1);
    return status;
}

static int fall_back(const tk_model *m, tk_model_worker *w, size_t *n, const uint8_t *bytes, size_t length, int first,
                     int last, int *made) {
    const tk_char_bpe *bpe = &m->bpe;
    size_t before = *n;
    int status = TK_OK;
    *made = 1;
    if (!first) status = add_bytes(m, w, n, bpe->prefix, bpe->n_prefix, made);
    if (status == TK_OK) status = add_bytes(m, w, n, bytes, length, made);
    if (status == TK_OK && last) status = add_bytes(m, w, n, bpe->suffix, bpe->n_suffix, made);
    if (!*made) *n = before;
    return status;
}

/* The first and the last character of a unit are those of a piece: with a prefix or suffix, no piece is cut. Bytes
   of a character overtake the unknown ones before it, as they do in tokenizers. */
static int read_symbols(const tk_model *m, tk_model_worker *w, const uint8_t *bytes, size_t n, size_t *count) {
    const tk_char_bpe *bpe = &m->bpe;
    size_t made = 0, unknown = 0; /* bytes of the unknown character, or of several that are one token */
    int status = TK_OK;
    for (size_t at = 0; at < n && status == TK_OK;) {
        unsigned length = tk_utf8_length(bytes[at]);
        int first = at == 0, last = at + length >= n && bpe->end == TK_NO_ID, all = 0;
        uint64_t node = first ? m->trie.root : bpe->prefixed;
        node = tk_trie_walk(&m->trie, node, bytes + at, length);
        if (last) node = tk_trie_walk(&m->trie, node, bpe->suffix, bpe->n_suffix);
        uint32_t id = tk_trie_id(node);
        if (TK_LIKELY(id != TK_NO_ID)) {
            if (unknown) status = add_symbol(w, &made, m->unknown, (uint32_t)unknown), unknown = 0;
            if (status == TK_OK) status = add_symbol(w, &made, id, length);
        } else {
            if (m->byte_fallback) status = fall_back(m, w, &made, bytes + at, length, first, last, &all);
            if (status == TK_OK && !all && !bpe->drops_unknown) {
                if (m->unknown == TK_NO_ID) return TK_UNKNOWN;
                if (unknown && !bpe->fuses) status = add_symbol(w, &made, m->unknown, (uint32_t)unknown), unknown = 0;
                unknown += length;
            }
        }
        at += length;
    }
    if (status == TK_OK && unknown) status = add_symbol(w, &made, m->unknown, (uint32_t)unknown);
    if (status == TK_OK && bpe->end != TK_NO_ID) status = add_symbol(w, &made, bpe->end, 0);
    *count = made;
    return status;
}

/* ---- merging */

static size_t merge_small(const tk_char_bpe *bpe, tk_symbol *symbols, size_t n) {
    uint32_t ranks[SMALL], results[SMALL];
    for (size_t i = 0; i + 1 < n; i++) {
        const tk_ranked_pair *pair = find_pair(bpe, symbols[i].id, symbols[i + 1].id);
        ranks[i] = pair ? pair->rank : UINT32_MAX;
        results[i] = pair ? pair->result : 0;
    }
    while (n > 1) {
        uint32_t best = ranks[0];
        size_t at = 0;
        for (size_t i = 1; i + 1 < n; i++)
            if (ranks[i] < best) best = ranks[i], at = i;
        if (best == UINT32_MAX) break;
        symbols[at] = (tk_symbol){results[at], symbols[at].length + symbols[at + 1].length};
        n--;
        for (size_t i = at + 1; i < n; i++) symbols[i] = symbols[i + 1];
        for (size_t i = at; i + 1 < n; i++) ranks[i] = ranks[i + 1], results[i] = results[i + 1];
        for (size_t i = at ? at - 1 : 0; i <= at && i + 1 < n; i++) {
            const tk_ranked_pair *pair = find_pair(bpe, symbols[i].id, symbols[i + 1].id);
            ranks[i] = pair ? pair->rank : UINT32_MAX;
            results[i] = pair ? pair->result : 0;
        }
    }
    return n;
}

/* Entries are rank << 32 | place. */
static void push(uint64_t *heap, size_t *n, uint64_t entry) {
    size_t i = (*n)++;
    for (size_t parent; i && heap[parent = (i - 1) / 2] > entry; i = parent) heap[i] = heap[parent];
    heap[i] = entry;
}

static uint64_t pop(uint64_t *heap, size_t *n) {
    uint64_t top = heap[0], moved = heap[--*n];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < *n; i = child) {
        if (child + 1 < *n && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= moved) break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
    return top;
}

static void push_pair(const tk_char_bpe *bpe, tk_model_worker *w, size_t *entries, uint32_t left) {
    const tk_link *links = w->links;
    const tk_ranked_pair *pair = find_pair(bpe, links[left].id, links[links[left].next].id);
    if (pair) push(w->heap, entries, (uint64_t)pair->rank << 32 | left);
}

/* Whether chance drops this merge: splitmix64, of which 53 bits are compared. */
static int dropped(tk_model_worker *w, double probability) {
    uint64_t x = w->random += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53 < probability;
}

static int reserve_long(tk_model_worker *w, size_t n) {
    int status = tk_reserve(&w->links, &w->links_capacity, n, sizeof(tk_link));
    if (status == TK_OK) status = tk_reserve(&w->heap, &w->heap_capacity, 3 * n, sizeof(uint64_t));
    if (status == TK_OK && w->drops) status = tk_reserve(&w->skipped, &w->skipped_capacity, 3 * n, sizeof(uint64_t));
    return status;
}

/* A merge puts in two pairs and takes one symbol, so 3n entries are enough. A dropped pair comes back once another
   merge has been taken. */
static void merge_long(const tk_char_bpe *bpe, tk_model_worker *w, size_t n) {
    tk_link *links = w->links;
    size_t entries = 0, skipped = 0;
    for (size_t i = 0; i < n; i++)
        links[i] = (tk_link){w->symbols[i].id, w->symbols[i].length, (uint32_t)(i - 1), (uint32_t)(i + 1)};
    links[0].previous = links[n - 1].next = NO_LINK;
    for (size_t i = 0; i + 1 < n; i++) push_pair(bpe, w, &entries, (uint32_t)i);
    while (entries) {
        uint64_t top = pop(w->heap, &entries);
        if (w->drops && dropped(w, bpe->dropout)) {
            w->skipped[skipped++] = top;
            continue;
        }
        while (skipped) push(w->heap, &entries, w->skipped[--skipped]);
        uint32_t result = bpe->merges[3 * (size_t)(top >> 32) + 2], left = (uint32_t)top, right = links[left].next;
        if (links[left].length == 0 || right == NO_LINK) continue;
        const tk_ranked_pair *pair = find_pair(bpe, links[left].id, links[right].id);
        if (!pair || pair->result != result) continue;
        links[left].id = result;
        links[left].length += links[right].length;
        links[right].length = 0;
        uint32_t after = links[left].next = links[right].next;
        if (after != NO_LINK) {
            links[after].previous = left;
            push_pair(bpe, w, &entries, left);
        }
        if (links[left].previous != NO_LINK) push_pair(bpe, w, &entries, links[left].previous);
    }
}

static int encode(const tk_model *m, tk_model_worker *w, const uint8_t *bytes, size_t n) {
    size_t count = 0, end = 0;
    int status = read_symbols(m, w, bytes, n, &count);
    if (status != TK_OK || !count) return status;
    if (count > 1 && (count > SMALL || w->drops || m->bpe.n_prefix)) {
        if ((status = reserve_long(w, count)) != TK_OK) return status;
        merge_long(&m->bpe, w, count);
        for (uint32_t i = 0; i != NO_LINK && status == TK_OK; i = w->links[i].next) {
            status = tk_sub_add(w, w->links[i].id, end, end + w->links[i].length);
            end += w->links[i].length;
        }
        return status;
    }
    count = merge_small(&m->bpe, w->symbols, count);
    for (size_t i = 0; i < count && status == TK_OK; i++) {
        status = tk_sub_add(w, w->symbols[i].id, end, end + w->symbols[i].length);
        end += w->symbols[i].length;
    }
    return status;
}

static int ends_in_blank(const tk_own_tokens *own, uint32_t id) {
    size_t n = tk_own_length(own, id);
    const uint8_t *end = tk_own_bytes(own, id) + n;
    return n >= 3 && end[-3] == 0xE2 && end[-2] == 0x96 && end[-1] == 0x81;
}

/* Whether a piece may be cut before U+2581, as far as what is no merge decides: U+2581 is a token, so that unknown
   characters before it are not one with it; none is dropped, which would make its neighbours meet (two of U+2581, say);
   and the unknown token does not itself look like U+2581. */
static int may_cut(const tk_model *m, const tk_own_tokens *own, const tk_model_options *o) {
    static const uint8_t blank[3] = {0xE2, 0x96, 0x81};
    int drops = o->drops_unknown && !m->byte_fallback;
    for (unsigned byte = 0; byte < 256 && o->drops_unknown; byte++) drops |= m->bytes[byte] == TK_NO_ID;
    if (drops || o->n_prefix || o->n_suffix) return 0;
    if (m->unknown != TK_NO_ID && ends_in_blank(own, m->unknown)) return 0;
    return tk_trie_find(&m->trie, blank, sizeof blank) != TK_NO_ID;
}

static void free_pairs(tk_model *m) {
    tk_table_free(m->bpe.pairs, (m->bpe.pair_mask + 1) * sizeof *m->bpe.pairs);
    free(m->bpe.pair_filter);
}

int tk_char_bpe_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit) {
    /* Only symbols of one character are looked up by their bytes, and whole pieces where that is asked for. */
    size_t longest = o->n_prefix + 4 + o->n_suffix;
    int status = tk_model_begin(m, own, o, o->whole_piece ? SIZE_MAX : longest < 6 ? 6 : longest, culprit);
    if (status != TK_OK) return status;
    if (*culprit >= 0) return TK_BAD_INPUT;
    m->encode = encode;
    m->free = free_pairs;
    tk_char_bpe *bpe = &m->bpe;
    bpe->prefix = o->prefix;
    bpe->suffix = o->suffix;
    bpe->n_prefix = o->n_prefix;
    bpe->n_suffix = o->n_suffix;
    bpe->prefixed = tk_trie_walk(&m->trie, m->trie.root, o->prefix, o->n_prefix);
    bpe->merges = o->merges;
    bpe->dropout = o->dropout;
    bpe->fuses = o->fuses;
    bpe->drops_unknown = o->drops_unknown;
    bpe->end = o->suffix_apart ? tk_trie_find(&m->trie, o->suffix, o->n_suffix) : TK_NO_ID;
    m->cuts.blanks = o->cuts && may_cut(m, own, o); /* and read_merges looks for merges that reach into it */
    status = read_merges(m, own, o, culprit);
    if (status != TK_OK || !o->cuts || o->n_prefix || o->n_suffix) return status;
    return tk_unit_cuts_build(&m->cuts, own, o->merges, o->n_merges, m->byte_fallback ? m->bytes : NULL);
}
