/* Unigram, words and characters over a whole text: see sp_whole.h. */
#include "sp_whole.h"

static const float UNKNOWN_PENALTY = 10.0F;
/* A running score below this becomes 0, and those that wait are raised with it (tests: documents of 1 MB). */
static const float LEAST_SCORE = -100000.0F;

int tk_sp_whole_init(tk_sp_whole *m, const tk_own_tokens *own, const uint8_t *charsmap, size_t n, tk_sp_options options,
                     const tk_own_tokens *symbols, const char **reason) {
    int64_t twice;
    int found = 0;
    float least = 0;
    for (size_t id = 0; id < m->n_pieces; id++) {
        if (m->types[id] == TK_SP_UNUSED) m->has_unused = 1;
        if (m->types[id] == TK_SP_UNKNOWN) m->unknown = (uint32_t)id;
        if (m->types[id] != TK_SP_NORMAL) continue;
        if (!found || m->scores[id] < least) least = m->scores[id];
        found = 1;
    }
    m->unknown_score = least - UNKNOWN_PENALTY;
    int status = tk_sp_normalizer_init(&m->normalizer, charsmap, n, options, symbols, reason);
    if (status == TK_OK && tk_token_trie_build(&m->pieces, own, NULL, 0, SIZE_MAX, &twice) != TK_OK)
        status = TK_NO_MEMORY;
    return status;
}

void tk_sp_whole_free(tk_sp_whole *m) {
    tk_sp_normalizer_free(&m->normalizer);
    tk_token_trie_free(&m->pieces);
}

void tk_sp_worker_free(tk_sp_worker *w) {
    tk_sp_text_free(&w->text);
    free(w->ids);
    free(w->spans);
    free(w->best);
    free(w->steps);
    free(w->path);
    free(w->symbols);
    free(w->heap);
    free(w->left_of);
    memset(w, 0, sizeof *w);
}

int tk_sp_append(tk_sp_worker *w, uint32_t id, size_t start, size_t end) {
    if (tk_reserve(&w->ids, &w->ids_capacity, w->n + 1, sizeof *w->ids) != TK_OK) return TK_NO_MEMORY;
    if (tk_reserve(&w->spans, &w->spans_capacity, w->n + 1, 2 * sizeof *w->spans) != TK_OK) return TK_NO_MEMORY;
    w->ids[w->n] = id;
    w->spans[2 * w->n] = (int64_t)start;
    w->spans[2 * w->n++ + 1] = (int64_t)end;
    return TK_OK;
}

int tk_sp_emit(const tk_sp_whole *m, tk_sp_worker *w, uint32_t id, size_t start, size_t end) {
    if (TK_LIKELY(id != m->unknown)) return tk_sp_append(w, id, start, end);
    if (m->byte_fallback) {
        /* The last byte's token stands for all of the text. */
        int status = TK_OK;
        for (size_t at = start; at < end && status == TK_OK; at++)
            status = tk_sp_append(w, m->bytes[w->text.text[at]], start, at + 1 == end ? end : start);
        return status;
    }
    if (w->n == w->first || w->ids[w->n - 1] != m->unknown) return tk_sp_append(w, id, start, end);
    w->spans[2 * w->n - 1] = (int64_t)end;
    return TK_OK;
}

/* best[i] is the score of the best tokens of text[:i], the last of which is steps[i]. Sums are floats, a later one has
   to be greater than what is there, and they come by where they begin and then by how long they are. */
static int unigram(const tk_sp_whole *m, tk_sp_worker *w) {
    const uint8_t *text = w->text.text;
    const size_t n = w->text.n;
    if (tk_reserve(&w->best, &w->best_capacity, n + 1, sizeof *w->best) != TK_OK) return TK_NO_MEMORY;
    if (tk_reserve(&w->steps, &w->steps_capacity, n + 1, sizeof *w->steps) != TK_OK) return TK_NO_MEMORY;
    float *best = w->best;
    tk_sp_step *steps = w->steps;
    memset(steps, 0, (n + 1) * sizeof *steps);
    best[0] = 0;
    size_t reached = 0;
    for (size_t at = 0, width; at < n; at += width) {
        width = tk_utf8_length(text[at]);
        if (TK_UNLIKELY(best[at] < LEAST_SCORE)) {
            float raised = best[at];
            for (size_t i = at; i <= reached; i++)
                if (i == at || steps[i].length) best[i] -= raised;
        }
        const float here = best[at];
        uint64_t node = m->pieces.root;
        int single = 0;
        for (size_t end = at; end < n && node && (node = tk_trie_step(&m->pieces, node, text[end]));) {
            uint32_t id = tk_trie_id(node), length = (uint32_t)(++end - at);
            if (id == TK_NO_ID) continue;
            float score = m->types[id] == TK_SP_USER_DEFINED ? (float)(0.1 * (length - 1)) : m->scores[id];
            float candidate = here + score;
            single |= length == width;
            if (!steps[end].length || candidate > best[end])
                best[end] = candidate, steps[end] = (tk_sp_step){id, length};
            if (end > reached) reached = end;
        }
        if (single) continue;
        size_t end = at + width;
        float candidate = here + m->unknown_score;
        if (!steps[end].length || candidate > best[end])
            best[end] = candidate, steps[end] = (tk_sp_step){m->unknown, (uint32_t)width};
        if (end > reached) reached = end;
    }
    size_t n_path = 0;
    for (size_t at = n; at; at -= steps[at].length) {
        if (tk_reserve(&w->path, &w->path_capacity, n_path + 1, sizeof *w->path) != TK_OK) return TK_NO_MEMORY;
        w->path[n_path++] = steps[at];
    }
    int status = TK_OK;
    for (size_t at = 0; n_path && status == TK_OK; at += w->path[n_path].length) {
        n_path--;
        status = tk_sp_emit(m, w, w->path[n_path].id, at, at + w->path[n_path].length);
    }
    return status;
}

TK_INLINE int is_space(const uint8_t *p, size_t left) {
    return left >= 3 && p[0] == 0xE2 && p[1] == 0x96 && p[2] == 0x81;
}

/* A word begins at each U+2581. */
static int words(const tk_sp_whole *m, tk_sp_worker *w) {
    const uint8_t *text = w->text.text;
    const size_t n = w->text.n;
    int status = TK_OK;
    for (size_t at = 0, end; at < n && status == TK_OK; at = end) {
        for (end = at + tk_utf8_length(text[at]); end < n && !is_space(text + end, n - end);)
            end += tk_utf8_length(text[end]);
        uint32_t id = tk_trie_find(&m->pieces, text + at, end - at);
        status = tk_sp_emit(m, w, id == TK_NO_ID ? m->unknown : id, at, end);
    }
    return status;
}

static int characters(const tk_sp_whole *m, tk_sp_worker *w) {
    const uint8_t *text = w->text.text;
    const size_t n = w->text.n;
    int status = TK_OK;
    for (size_t at = 0, length; at < n && status == TK_OK; at += length) {
        length = tk_sp_symbol_at(&m->normalizer, text + at, n - at);
        if (!length) length = tk_utf8_length(text[at]);
        uint32_t id = tk_trie_find(&m->pieces, text + at, length);
        status = tk_sp_emit(m, w, id == TK_NO_ID ? m->unknown : id, at, at + length);
    }
    return status;
}

int tk_sp_whole_encode(const tk_sp_whole *m, tk_sp_worker *w, const uint8_t *text, size_t n) {
    int status = tk_sp_normalize(&m->normalizer, text, n, &w->text);
    w->first = w->n;
    if (status != TK_OK || !w->text.n) return status;
    if (w->text.n >= UINT32_MAX) return TK_TOO_LARGE;
    switch (m->kind) {
    case TK_SP_UNIGRAM: return unigram(m, w);
    case TK_SP_BPE: return tk_sp_whole_bpe(m, w);
    case TK_SP_WORD: return words(m, w);
    default: return characters(m, w);
    }
}
