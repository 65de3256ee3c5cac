/* A sentencepiece model as it is stored in, the tables of its engine out: see sp_engine.h. */
#include "sp_engine.h"

static const uint8_t SPACE_SYMBOL[] = {0xE2, 0x96, 0x81};
static const float UNKNOWN_PENALTY = 10.0f;

/* Pieces as they stand in the buffer. */
typedef struct {
    uint8_t *blob;
    int64_t *offsets;
    uint8_t *foreign;
    size_t n, capacity, n_blob, blob_capacity;
} forms;

static void free_forms(forms *f) {
    free(f->blob);
    free(f->offsets);
    free(f->foreign);
}

static int add_form(forms *f, const uint8_t *p, size_t n, int foreign) {
    size_t capacity = f->capacity;
    if (tk_reserve(&f->blob, &f->blob_capacity, f->n_blob + n, 1) != TK_OK ||
        tk_reserve(&f->foreign, &f->capacity, f->n + 1, 1) != TK_OK)
        return TK_NO_MEMORY;
    if (f->capacity != capacity) {
        int64_t *moved = realloc(f->offsets, (f->capacity + 1) * sizeof *moved);
        if (!moved) return TK_NO_MEMORY;
        f->offsets = moved;
        if (!f->n) f->offsets[0] = 0;
    }
    if (n) memcpy(f->blob + f->n_blob, p, n);
    f->n_blob += n;
    f->foreign[f->n++] = (uint8_t)foreign;
    f->offsets[f->n] = (int64_t)f->n_blob;
    return TK_OK;
}

/* A piece as it stands in the buffer, in `out`, which holds n bytes; SIZE_MAX for one that no text spells. */
static size_t form_of(const uint8_t *p, size_t n, int escape, uint8_t *out) {
    size_t made = 0;
    for (size_t i = 0; i < n; i++) {
        if (escape && p[i] == ' ') return SIZE_MAX;
        if (escape && n - i >= sizeof SPACE_SYMBOL && !memcmp(p + i, SPACE_SYMBOL, sizeof SPACE_SYMBOL)) {
            out[made++] = ' ';
            i += sizeof SPACE_SYMBOL - 1;
        } else {
            out[made++] = p[i];
        }
    }
    return made;
}

static int takes_part(const tk_sp_source *s, size_t id) {
    return s->kinds[id] == TK_SP_NORMAL || s->kinds[id] == TK_SP_USER || (s->bpe && s->kinds[id] == TK_SP_UNUSED);
}

static int add_pieces(forms *f, const tk_sp_source *s) {
    size_t longest = 0, n;
    for (size_t id = 0; id < s->n_ids; id++) {
        n = (size_t)(s->offsets[id + 1] - s->offsets[id]);
        if (n > longest) longest = n;
    }
    uint8_t *made = tk_alloc(longest + 1, 1);
    int status = made ? TK_OK : TK_NO_MEMORY;
    for (size_t id = 0; id < s->n_ids && status == TK_OK; id++) {
        const uint8_t *p = s->blob + s->offsets[id];
        n = form_of(p, (size_t)(s->offsets[id + 1] - s->offsets[id]), s->escape, made);
        int foreign = n == SIZE_MAX || !n || !takes_part(s, id);
        status = add_form(f, made, foreign ? 0 : n, foreign);
    }
    free(made);
    return status;
}

static int build_trie(tk_token_trie *trie, const forms *f, const uint8_t *foreign) {
    int64_t twice;
    tk_own_tokens own = {f->blob, f->offsets, f->n, foreign};
    return tk_token_trie_build(trie, &own, NULL, 0, SIZE_MAX, &twice);
}

/* ---- scores */

static int set_scores(tk_sp *m, const tk_sp_source *s) {
    float least = 0;
    int any = 0;
    m->scores = tk_calloc(m->n_ids, sizeof *m->scores);
    if (!m->scores) return TK_NO_MEMORY;
    for (size_t id = 0; id < m->n_ids; id++) {
        size_t n = (size_t)(s->offsets[id + 1] - s->offsets[id]);
        m->scores[id] = s->scores[id];
        if (s->kinds[id] == TK_SP_USER) m->scores[id] = (float)(0.1 * ((double)n - 1));
        if (s->kinds[id] != TK_SP_NORMAL) continue;
        if (!any || s->scores[id] < least) least = s->scores[id];
        any = 1;
    }
    m->unknown_score = least - UNKNOWN_PENALTY;
    for (unsigned b = 0; b < 256; b++) m->bytes[b] = m->unknown;
    for (size_t id = 0; id < m->n_ids; id++) {
        unsigned value = 0;
        if (s->kinds[id] != TK_SP_BYTE) continue;
        const uint8_t *p = s->blob + s->offsets[id]; /* <0x2F> */
        for (int k = 3; k < 5 && s->offsets[id + 1] - s->offsets[id] == 6; k++)
            value = value << 4 | (p[k] <= '9' ? p[k] - (unsigned)'0' : (p[k] & 0xDFu) - 'A' + 10);
        m->bytes[value & 255] = (uint32_t)id;
        m->scores[id] = tk_is_continuation((uint8_t)value) ? 0 : m->unknown_score;
    }
    m->scores[m->unknown] = m->unknown_score;
    return TK_OK;
}

/* ---- normalizer */

enum { MOST_STEPS = 1 << 22 }; /* of a walk over all that begins with some character: a map may be made to be large */

/* The units of the map that bytes lead to: where the children stand; 0 for none. *leaf says whether a string ends. */
static size_t walk(const tk_sp *m, size_t at, const uint8_t *p, size_t n, int *leaf) {
    *leaf = 0;
    for (size_t i = 0; i < n; i++) {
        at = tk_charsmap_child(&m->map, at, p[i], leaf);
        if (at == SIZE_MAX) return SIZE_MAX;
    }
    return at;
}

typedef struct {
    const tk_sp *m;
    size_t steps;
} search;

/* Mark the characters that go on from a unit of the map, of which `n` bytes are known. */
static void mark_seconds(search *s, size_t at, uint8_t *bytes, size_t n) {
    for (unsigned b = 1; b < 256 && s->steps < MOST_STEPS; b++, s->steps++) {
        int leaf;
        size_t next = tk_charsmap_child(&s->m->map, at, (uint8_t)b, &leaf);
        if (next == SIZE_MAX || (n > 0) != tk_is_continuation((uint8_t)b)) continue;
        bytes[n] = (uint8_t)b;
        unsigned length;
        if (n + 1 < tk_utf8_length(bytes[0])) mark_seconds(s, next, bytes, n + 1);
        else if (tk_utf8_length(bytes[0]) < 4) s->m->firsts[tk_utf8_decode(bytes, &length)] |= TK_SP_SECOND;
    }
}

/* Whether anything goes on from a unit of the map; *ascii, whether with ASCII. */
static int goes_on(const tk_sp *m, size_t at, int *ascii) {
    int any = 0, leaf;
    *ascii = 0;
    for (unsigned b = 1; b < 256; b++)
        if (tk_charsmap_child(&m->map, at, (uint8_t)b, &leaf) != SIZE_MAX) any = 1, *ascii |= b < 0x80;
    return any;
}

/* What begins with each character; `looks` gets the ASCII that something of ASCII goes on from. */
static void read_map(tk_sp *m, uint8_t *looks) {
    search s = {m, 0};
    uint8_t bytes[4];
    for (uint32_t c = 1; c < TK_SP_PAGE; c++) {
        int leaf, ascii;
        size_t n = (size_t)(tk_utf8_put(bytes, c) - bytes), at = walk(m, tk_charsmap_root(&m->map), bytes, n, &leaf);
        if (at == SIZE_MAX) continue;
        if (leaf) m->firsts[c] |= TK_SP_ALONE;
        if (!goes_on(m, at, &ascii)) continue;
        m->firsts[c] |= TK_SP_BEGINS;
        if (c < 0x80) looks[c] |= (uint8_t)ascii, m->composes = 1;
        uint8_t second[4];
        mark_seconds(&s, at, second, 0);
    }
    for (size_t c = 0; c < TK_SP_PAGE && s.steps >= MOST_STEPS; c++) m->firsts[c] |= TK_SP_SECOND;
}

static int set_normalizer(tk_sp *m, const tk_sp_source *s, const char **reason) {
    uint8_t looks[128] = {0};
    int status = TK_OK;
    m->firsts = tk_calloc(TK_SP_PAGE, 1);
    if (!m->firsts) return TK_NO_MEMORY;
    if (s->n_charsmap) {
        m->has_map = 1;
        status = tk_charsmap_init(&m->map, s->charsmap, s->n_charsmap, reason);
        if (status != TK_OK) return status;
        read_map(m, looks);
    }
    m->firsts[' '] |= TK_SP_ALONE;
    if (m->escape) m->firsts[0x2581] |= TK_SP_ALONE;
    for (unsigned c = 0; c < 128; c++) {
        uint8_t byte = (uint8_t)c;
        const uint8_t *put = &byte;
        size_t n_put = 1, begun = m->users.root ? tk_trie_step(&m->users, m->users.root, byte) != 0 : 0;
        if (looks[c] || begun || !c) continue;
        if (tk_sp_step(m, &byte, 1, 0, &put, &n_put) != 1 || n_put != 1) continue;
        if (*put == ' ') m->ascii[c] = TK_SP_WHITE;
        else if (*put == c) m->ascii[c] = TK_SP_KEEP;
        if (m->ascii[c]) (m->ascii[c] == TK_SP_WHITE ? &m->white : &m->keep)->low[c & 15] |= (uint8_t)(1u << (c >> 4));
    }
    return status;
}

/* The characters that user-defined pieces begin with are looked at. */
static void mark_users(tk_sp *m, const tk_sp_source *s) {
    unsigned length;
    for (size_t id = 0; id < s->n_ids; id++) {
        size_t n = (size_t)(s->offsets[id + 1] - s->offsets[id]);
        const uint8_t *p = s->blob + s->offsets[id];
        if (s->kinds[id] != TK_SP_USER || !n) continue;
        if (tk_sp_length(*p, n) == 1) m->firsts[*p] |= TK_SP_ALONE;
        else if (tk_sp_length(*p, n) < 4) m->firsts[tk_utf8_decode(p, &length) & (TK_SP_PAGE - 1)] |= TK_SP_ALONE;
    }
}

/* ---- cuts */

static int set_cuts(tk_sp *m, const forms *f) {
    m->bigrams = tk_calloc((size_t)1 << (TK_SP_BIGRAM_BITS - 3), 1);
    if (!m->bigrams) return TK_NO_MEMORY;
    memset(&m->apart, 0xFF, sizeof m->apart);
    m->plain = 1;
    for (size_t id = 0; id < f->n; id++) {
        const uint8_t *p = f->blob + f->offsets[id];
        size_t n = (size_t)(f->offsets[id + 1] - f->offsets[id]);
        uint32_t left = 0;
        for (size_t i = 0; i < n && !f->foreign[id];) {
            unsigned length = tk_sp_length(p[i], n - i);
            uint32_t right = tk_sp_packed(p + i, length);
            if (i) tk_set_bit(m->bigrams, tk_sp_bigram(left, right));
            if (i && right == ' ' && left != ' ') m->plain = 0;
            if (length == 1 && n > 1 && p[i] < 0x80) m->apart.low[p[i] & 15] &= (uint8_t)~(1u << (p[i] >> 4));
            left = right;
            i += length;
        }
    }
    m->apart.low[0] &= (uint8_t)~(1u << (' ' >> 4)); /* never within spaces, which the end may lose */
    return TK_OK;
}

/* ---- BPE */

/* Characters of pieces that are no pieces themselves get numbers behind the ids: they merge as well. */
static int add_characters(forms *f, tk_token_trie *trie) {
    size_t n_pieces = f->n;
    int status = build_trie(trie, f, f->foreign);
    for (size_t id = 0; id < n_pieces && status == TK_OK; id++) {
        for (int64_t i = f->offsets[id]; i < f->offsets[id + 1] && status == TK_OK;) {
            uint8_t bytes[4] = {0};
            unsigned length = tk_sp_length(f->blob[i], (size_t)(f->offsets[id + 1] - i));
            memcpy(bytes, f->blob + i, length);
            if (tk_trie_find(trie, bytes, length) == TK_NO_ID) status = add_form(f, bytes, length, 0);
            i += length;
        }
    }
    if (f->n == n_pieces || status != TK_OK) return status;
    tk_token_trie_free(trie);
    return build_trie(trie, f, f->foreign); /* of two with the same bytes the greater counts: one of each is enough */
}

/* Scores as numbers, the greatest first: those of floats, with the sign turned. */
static uint32_t order_of(float score) {
    uint32_t bits;
    score += 0.0f; /* no negative zero */
    memcpy(&bits, &score, sizeof bits);
    return bits >> 31 ? bits : ~bits & ~(UINT32_C(1) << 31);
}

typedef struct {
    uint32_t order, id;
} ranked;

static int by_order(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Number the symbols by their scores; characters that are no pieces come last, as nothing becomes one. */
static int set_numbers(tk_sp *m, const tk_sp_source *s, const forms *f) {
    m->n_symbols = f->n;
    m->tokens = tk_alloc(f->n, sizeof *m->tokens);
    m->numbers = tk_alloc(f->n, sizeof *m->numbers);
    m->ranks = tk_alloc(f->n, sizeof *m->ranks);
    ranked *list = tk_alloc(f->n, sizeof *list);
    if (!m->tokens || !m->numbers || !m->ranks || !list) return free(list), TK_NO_MEMORY;
    for (size_t id = 0; id < f->n; id++)
        list[id] = (ranked){id < m->n_ids && !f->foreign[id] ? order_of(s->scores[id]) : UINT32_MAX, (uint32_t)id};
    qsort(list, f->n, sizeof *list, by_order);
    int equal = 0;
    for (size_t k = 0; k < f->n; k++) {
        int same = k && list[k].order == list[k - 1].order;
        m->tokens[k] = list[k].id;
        m->numbers[list[k].id] = (uint32_t)k;
        m->ranks[k] = same ? m->ranks[k - 1] : (uint32_t)k;
        equal |= same && list[k].order != UINT32_MAX;
    }
    free(list);
    if (equal) return TK_OK;
    free(m->ranks);
    m->ranks = NULL;
    return TK_OK;
}

static int set_unused(tk_sp *m, const tk_sp_source *s, const forms *f) {
    for (size_t id = 0; id < m->n_ids && !m->whole; id++) m->whole = s->kinds[id] == TK_SP_UNUSED;
    if (!m->whole) return TK_OK;
    m->unused = tk_calloc(f->n, 1);
    m->lengths = tk_alloc(f->n, sizeof *m->lengths);
    if (!m->unused || !m->lengths) return TK_NO_MEMORY;
    for (size_t id = 0; id < f->n; id++) {
        size_t number = m->numbers[id];
        m->unused[number] = id < m->n_ids && s->kinds[id] == TK_SP_UNUSED;
        m->lengths[number] = (uint32_t)(f->offsets[id + 1] - f->offsets[id]);
    }
    return TK_OK;
}

typedef struct {
    uint64_t *list;
    size_t n, capacity;
} pair_list;

/* Every way to make a piece of two. */
static int list_pairs(const tk_sp *m, const forms *f, pair_list *pairs) {
    for (size_t id = 0; id < m->n_ids; id++) {
        const uint8_t *p = f->blob + f->offsets[id];
        size_t n = (size_t)(f->offsets[id + 1] - f->offsets[id]), i = 0;
        uint64_t node = m->trie.root;
        if (f->foreign[id]) continue;
        while (i + 1 < n && node) {
            node = tk_trie_step(&m->trie, node, p[i++]);
            if (!node || tk_trie_id(node) == TK_NO_ID) continue;
            uint32_t right = tk_trie_find(&m->trie, p + i, n - i);
            if (right == TK_NO_ID) continue;
            if (tk_reserve(&pairs->list, &pairs->capacity, pairs->n + 1, sizeof *pairs->list)) return TK_NO_MEMORY;
            pairs->list[pairs->n++] = ((uint64_t)m->numbers[tk_trie_id(node)] << TK_SP_PAIR_BITS | m->numbers[right])
                                          << TK_SP_PAIR_BITS | m->numbers[id];
        }
    }
    return TK_OK;
}

static int set_pairs(tk_sp *m, const forms *f) {
    pair_list pairs = {0};
    size_t slots = 2;
    if (f->n >= (size_t)1 << TK_SP_PAIR_BITS) return TK_TOO_LARGE;
    int status = list_pairs(m, f, &pairs);
    while (slots < 2 * pairs.n) slots *= 2;
    m->pair_mask = slots - 1;
    if (status == TK_OK && !(m->pairs = tk_alloc(slots, sizeof *m->pairs))) status = TK_NO_MEMORY;
    if (status == TK_OK && !(m->may_pair = tk_calloc((size_t)1 << (TK_SP_MAY_BITS - 6), 8))) status = TK_NO_MEMORY;
    if (status == TK_OK) memset(m->pairs, 0xFF, slots * sizeof *m->pairs);
    for (size_t k = 0; k < pairs.n && status == TK_OK; k++) {
        uint64_t hash = tk_sp_pair_hash(pairs.list[k] >> TK_SP_PAIR_BITS);
        size_t slot = (size_t)(hash >> 32) & m->pair_mask, bit = (size_t)(hash >> (64 - TK_SP_MAY_BITS));
        m->may_pair[bit >> 6] |= UINT64_C(1) << (bit & 63);
        while (m->pairs[slot] != UINT64_MAX) slot = (slot + 1) & m->pair_mask;
        m->pairs[slot] = pairs.list[k];
    }
    free(pairs.list);
    return status;
}

static int set_frozen(tk_sp *m, const tk_sp_source *s, const forms *f) {
    uint8_t *foreign = tk_alloc(f->n, 1);
    if (!foreign) return TK_NO_MEMORY;
    for (size_t id = 0; id < f->n; id++)
        foreign[id] = f->foreign[id] || id >= s->n_ids || s->kinds[id] != TK_SP_USER;
    int status = build_trie(&m->frozen, f, foreign);
    free(foreign);
    return status;
}

/* ---- all */

static int build_users(tk_sp *m, const tk_sp_source *s) {
    uint8_t *foreign = tk_alloc(s->n_ids, 1);
    int64_t twice;
    if (!foreign) return TK_NO_MEMORY;
    for (size_t id = 0; id < s->n_ids; id++) foreign[id] = s->kinds[id] != TK_SP_USER;
    tk_own_tokens own = {s->blob, s->offsets, s->n_ids, foreign};
    int status = tk_token_trie_build(&m->users, &own, NULL, 0, SIZE_MAX, &twice);
    free(foreign);
    return status;
}

int tk_sp_build(tk_sp *m, const tk_sp_source *s, const char **reason) {
    forms f = {0};
    memset(m, 0, sizeof *m);
    m->bpe = s->bpe, m->byte_fallback = s->byte_fallback, m->dummy_prefix = s->dummy_prefix;
    m->remove_extra = s->remove_extra, m->escape = s->escape, m->suffix = s->suffix;
    m->unknown = s->unknown, m->n_ids = s->n_ids;
    int status = add_pieces(&f, s);
    if (status == TK_OK) status = set_scores(m, s);
    if (status == TK_OK) status = build_users(m, s);
    if (status == TK_OK) status = set_normalizer(m, s, reason);
    if (status == TK_OK) mark_users(m, s);
    if (status == TK_OK) status = set_cuts(m, &f);
    if (m->bpe) {
        if (status == TK_OK) status = add_characters(&f, &m->trie);
        if (status == TK_OK) status = set_numbers(m, s, &f);
        if (status == TK_OK) status = set_unused(m, s, &f);
        if (status == TK_OK) status = set_pairs(m, &f);
        if (status == TK_OK) status = set_frozen(m, s, &f);
    } else if (status == TK_OK) {
        status = build_trie(&m->trie, &f, f.foreign);
    }
    free_forms(&f);
    return status;
}

void tk_sp_free(tk_sp *m) {
    tk_token_trie_free(&m->trie);
    tk_token_trie_free(&m->users);
    tk_token_trie_free(&m->frozen);
    tk_charsmap_free(&m->map);
    free(m->scores);
    free(m->firsts);
    free(m->bigrams);
    free(m->pairs);
    free(m->may_pair);
    free(m->tokens);
    free(m->numbers);
    free(m->ranks);
    free(m->unused);
    free(m->lengths);
    memset(m, 0, sizeof *m);
}
