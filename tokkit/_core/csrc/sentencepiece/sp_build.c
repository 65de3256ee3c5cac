/* Builds the engine's tables from a stored sentencepiece model: see sp_engine.h. */
#include "sentencepiece/sp_build.h"

static const uint8_t SPACE_SYMBOL[] = {0xE2, 0x96, 0x81};
static const float UNKNOWN_PENALTY = 10.0f;

static void free_forms(tk_sp_forms *f) {
    free(f->blob);
    free(f->offsets);
    free(f->excluded);
}

int tk_sp_add_form(tk_sp_forms *f, const uint8_t *p, size_t n, int excluded) {
    size_t capacity = f->capacity;
    /* One byte more: where no piece is spelt, the empty ones have a place all the same. */
    if (tk_reserve(&f->blob, &f->blob_capacity, f->n_blob + n + 1, 1) != TK_OK ||
        tk_reserve(&f->excluded, &f->capacity, f->n + 1, 1) != TK_OK)
        return TK_NO_MEMORY;
    if (f->capacity != capacity) {
        int64_t *moved = realloc(f->offsets, (f->capacity + 1) * sizeof *moved);
        if (!moved) return TK_NO_MEMORY;
        f->offsets = moved;
        if (!f->n) f->offsets[0] = 0;
    }
    if (n) memcpy(f->blob + f->n_blob, p, n);
    f->n_blob += n;
    f->excluded[f->n++] = (uint8_t)excluded;
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
    if (s->kinds[id] == TK_SP_UNUSED) return s->model != TK_SP_UNIGRAM;
    return s->kinds[id] == TK_SP_NORMAL || s->kinds[id] == TK_SP_USER;
}

static int add_pieces(tk_sp_forms *f, const tk_sp_source *s) {
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
        int excluded = n == SIZE_MAX || !n || !takes_part(s, id);
        status = tk_sp_add_form(f, made, excluded ? 0 : n, excluded);
    }
    free(made);
    return status;
}

int tk_sp_build_trie(tk_token_trie *trie, const tk_sp_forms *f, const uint8_t *excluded) {
    int64_t twice;
    tk_own_tokens own = {f->blob, f->offsets, f->n, excluded};
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
    m->verbatim = !m->has_map && !m->users.root;
    m->firsts[' '] |= TK_SP_ALONE;
    if (m->escape) m->firsts[0x2581] |= TK_SP_ALONE;
    for (unsigned c = 0; c < 128; c++) {
        uint8_t byte = (uint8_t)c;
        const uint8_t *put = &byte;
        size_t n_put = 1, begun = m->users.root ? tk_trie_step(&m->users, m->users.root, byte) != 0 : 0;
        if (looks[c] || begun || !c) continue;
        if (tk_sp_replaced(m, &byte, 1, 0, &put, &n_put) != 1 || n_put != 1) continue;
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

static int set_cuts(tk_sp *m, const tk_sp_forms *f) {
    m->neighbors = tk_calloc(TK_NEIGHBOR_BYTES, 1);
    if (!m->neighbors) return TK_NO_MEMORY;
    memset(&m->apart, 0xFF, sizeof m->apart);
    m->plain = 1;
    for (size_t id = 0; id < f->n; id++) {
        const uint8_t *p = f->blob + f->offsets[id];
        size_t n = (size_t)(f->offsets[id + 1] - f->offsets[id]);
        uint32_t left = 0;
        for (size_t i = 0; i < n && !f->excluded[id];) {
            unsigned length = tk_sp_length(p[i], n - i);
            uint8_t bytes[4] = {0};
            memcpy(bytes, p + i, length);
            uint32_t right = tk_packed(bytes, length);
            if (i) tk_set_bit(m->neighbors, tk_neighbor_pair(left, right));
            if (i && right == ' ' && left != ' ') m->plain = 0;
            if (length == 1 && n > 1 && p[i] < 0x80) m->apart.low[p[i] & 15] &= (uint8_t)~(1u << (p[i] >> 4));
            left = right;
            i += length;
        }
    }
    m->apart.low[0] &= (uint8_t)~(1u << (' ' >> 4)); /* never within spaces, which the end may lose */
    return TK_OK;
}

/* ---- all */

static int build_users(tk_sp *m, const tk_sp_source *s) {
    uint8_t *excluded = tk_alloc(s->n_ids, 1);
    int64_t twice;
    if (!excluded) return TK_NO_MEMORY;
    for (size_t id = 0; id < s->n_ids; id++) excluded[id] = s->kinds[id] != TK_SP_USER;
    tk_own_tokens own = {s->blob, s->offsets, s->n_ids, excluded};
    int status = tk_token_trie_build(&m->users, &own, NULL, 0, SIZE_MAX, &twice);
    free(excluded);
    return status;
}

static int build_frozen(tk_sp *m, const tk_sp_source *s, const tk_sp_forms *f) {
    uint8_t *excluded = tk_alloc(f->n, 1);
    if (!excluded) return TK_NO_MEMORY;
    for (size_t id = 0; id < f->n; id++) excluded[id] = f->excluded[id] || s->kinds[id] != TK_SP_USER;
    int status = tk_sp_build_trie(&m->frozen, f, excluded);
    free(excluded);
    return status;
}

int tk_sp_build(tk_sp *m, const tk_sp_source *s, const char **reason) {
    tk_sp_forms f = {0};
    memset(m, 0, sizeof *m);
    m->model = s->model, m->bpe = s->model == TK_SP_BPE;
    m->byte_fallback = s->byte_fallback, m->dummy_prefix = s->dummy_prefix;
    m->remove_extra = s->remove_extra, m->escape = s->escape, m->suffix = s->suffix;
    m->unknown = s->unknown, m->n_ids = s->n_ids;
    int status = add_pieces(&f, s);
    if (status == TK_OK) status = set_scores(m, s);
    if (status == TK_OK) status = build_users(m, s);
    if (status == TK_OK) status = set_normalizer(m, s, reason);
    if (status == TK_OK) mark_users(m, s);
    if (status == TK_OK) status = set_cuts(m, &f);
    m->whole |= m->model == TK_SP_WORD || m->model == TK_SP_CHAR;
    if (status == TK_OK && m->model != TK_SP_UNIGRAM) status = build_frozen(m, s, &f);
    if (status == TK_OK)
        status = m->bpe ? tk_sp_build_bpe(m, s, &f) : tk_sp_build_trie(&m->trie, &f, f.excluded);
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
    free(m->neighbors);
    tk_char_pairs_free(&m->pairs);
    tk_char_pairs_free(&m->last_pairs);
    free(m->unused);
    free(m->lengths);
    free(m->plain_ascii);
    memset(m, 0, sizeof *m);
}
