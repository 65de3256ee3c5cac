/* BPE over the characters of a pretoken, as in tokenizers.

   Pretokens of few symbols merge in small arrays; long ones, those with a prefix (where a merge may make what was there
   before) and those with dropout in a list with a heap (encode/char_merge.h). */
#include "encode/model.h"
#include "split/neighbors.h"
#include "text/utf8.h"

/* ---- building */

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

/* Whether U+2581 stands after another character in a token. */
static int holds_inner_blank(const uint8_t *p, size_t n) {
    for (size_t i = 1; i + 2 < n; i++)
        if (p[i] == 0xE2 && p[i + 1] == 0x96 && p[i + 2] == 0x81 &&
            !(i >= 3 && p[i - 3] == 0xE2 && p[i - 2] == 0x96 && p[i - 1] == 0x81))
            return 1;
    return 0;
}

static int read_merges(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit) {
    if (o->n_merges >= UINT32_MAX / 2) return TK_TOO_LARGE;
    int status = tk_char_pairs_init(&m->bpe.pairs, o->n_merges);
    for (size_t rank = 0; rank < o->n_merges && status == TK_OK; rank++) {
        const uint32_t *merge = o->merges + 3 * rank;
        if (!fits(own, merge, o->n_prefix)) return *culprit = -1 - (int64_t)rank, TK_BAD_INPUT;
        tk_char_pairs_put(&m->bpe.pairs, merge[0], merge[1], (uint32_t)rank, merge[2]);
        if (holds_inner_blank(tk_own_bytes(own, merge[2]), tk_own_length(own, merge[2]))) m->cuts_at_blanks = 0;
    }
    return status;
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

/* The first and the last character of a unit are those of a pretoken: with a prefix or suffix, no pretoken is cut.
   Bytes of a character overtake the unknown ones before it, as they do in tokenizers. */
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
                if (m->unknown == TK_NO_ID) return TK_UNENCODABLE;
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

/* The tokens of symbols [from, to) that became one; *end is where the last one ended. */
static int add_token(tk_model_worker *w, uint32_t id, size_t from, size_t to, size_t *end) {
    size_t start = *end;
    for (size_t i = from; i < to; i++) *end += w->symbols[i].length;
    return tk_sub_add(w, id, start, *end);
}

static int merge_few(const tk_model *m, tk_model_worker *w, size_t count) {
    tk_few few;
    size_t end = 0, n = count;
    int status = TK_OK;
    for (size_t i = 0; i < n; i++) few.at[i] = (uint32_t)i, few.ids[i] = w->symbols[i].id;
    for (size_t i = 0; i + 1 < n; i++) tk_few_look(&m->bpe.pairs, &few, i);
    n = tk_merge_few(&m->bpe.pairs, &few, n);
    for (size_t i = 0; i < n && status == TK_OK; i++)
        status = add_token(w, few.ids[i], few.at[i], i + 1 < n ? few.at[i + 1] : count, &end);
    return status;
}

static int merge_many(const tk_model *m, tk_model_worker *w, size_t count) {
    tk_merge_options options = {m->bpe.merges, w->drops ? m->bpe.dropout : 0, &w->random, NULL};
    size_t end = 0;
    int status = tk_merge_reserve(&w->merge, count, &options);
    if (status != TK_OK) return status;
    tk_merge_link *links = w->merge.links;
    for (size_t i = 0; i < count; i++) links[i].id = w->symbols[i].id;
    tk_merge_many(&m->bpe.pairs, &w->merge, count, &options);
    for (size_t i = 0; i < count && status == TK_OK; i = links[i].next)
        status = add_token(w, links[i].id, i, links[i].next, &end);
    return status;
}

static int encode(const tk_model *m, tk_model_worker *w, const uint8_t *bytes, size_t n) {
    size_t count = 0;
    int status = read_symbols(m, w, bytes, n, &count);
    if (status != TK_OK || !count) return status;
    if (count > TK_FEW_SYMBOLS || w->drops || m->bpe.n_prefix) return merge_many(m, w, count);
    return merge_few(m, w, count);
}

/* ---- where pretokens may be cut */

static int ends_in_blank(const tk_own_tokens *own, uint32_t id) {
    size_t n = tk_own_length(own, id);
    const uint8_t *end = tk_own_bytes(own, id) + n;
    return n >= 3 && end[-3] == 0xE2 && end[-2] == 0x96 && end[-1] == 0x81;
}

/* Whether a pretoken may be cut before U+2581, as far as what is no merge decides: U+2581 is a token, so that unknown
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

static int is_of_a_byte(const uint32_t *bytes, uint32_t id) {
    for (int byte = 0; byte < 256; byte++)
        if (bytes[byte] == id) return 1;
    return 0;
}

/* Whether each byte has a token, and no merge has one of these on either side. */
static int leaves_bytes_alone(const tk_own_tokens *own, const uint32_t *merges, size_t n_merges,
                              const uint32_t *bytes) {
    enum { LENGTH = 6 }; /* of "<0x00>" */
    for (int byte = 0; byte < 256; byte++)
        if (bytes[byte] == TK_NO_ID) return 0;
    for (size_t rank = 0; rank < n_merges; rank++)
        for (int side = 0; side < 2; side++) {
            uint32_t id = merges[3 * rank + side];
            if (tk_own_length(own, id) == LENGTH && *tk_own_bytes(own, id) == '<' && is_of_a_byte(bytes, id)) return 0;
        }
    return 1;
}

/* The neighbours in what merges make. */
static int find_neighbors(tk_model *m, const tk_own_tokens *own, const tk_model_options *o) {
    uint8_t *set = m->neighbors = tk_calloc(TK_NEIGHBOR_BYTES, 1);
    for (size_t rank = 0; set && rank < o->n_merges; rank++) {
        const uint8_t *p = tk_own_bytes(own, o->merges[3 * rank + 2]);
        size_t n = tk_own_length(own, o->merges[3 * rank + 2]);
        uint32_t left = 0;
        for (size_t at = 0, length; at < n; at += length) {
            uint8_t bytes[4] = {0};
            length = tk_utf8_length(p[at]);
            memcpy(bytes, p + at, length < n - at ? length : n - at);
            uint32_t right = tk_packed(bytes, 4);
            if (at) tk_set_bit(set, tk_neighbor_pair(left, right));
            left = right;
        }
    }
    return set ? TK_OK : TK_NO_MEMORY;
}

static void free_bpe(tk_model *m) {
    tk_char_pairs_free(&m->bpe.pairs);
    free(m->neighbors);
}

int tk_char_bpe_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit) {
    /* Only symbols of one character are looked up by their bytes, and whole pretokens where that is asked for. */
    size_t longest = o->n_prefix + 4 + o->n_suffix;
    int status = tk_model_begin(m, own, o, o->whole_piece ? SIZE_MAX : longest < 6 ? 6 : longest, culprit);
    if (status != TK_OK) return status;
    if (*culprit >= 0) return TK_BAD_INPUT;
    m->encode = encode;
    m->free = free_bpe;
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
    m->cuts_at_blanks = may_cut(m, own, o); /* and read_merges looks for merges that reach into it */
    status = read_merges(m, own, o, culprit);
    m->falls_back = status == TK_OK && m->byte_fallback && !o->n_prefix && !o->n_suffix &&
                    leaves_bytes_alone(own, o->merges, o->n_merges, m->bytes);
    return m->falls_back && !o->whole_piece && o->dropout <= 0 ? find_neighbors(m, own, o) : status;
}
