/* Unigram by Viterbi in double precision, as in tokenizers.

   A character without a token is unknown, with the minimum score less 10. Of two paths to the same position, the later
   one must be better to win. Adjacent unknown tokens become one. O(n times the longest token). */
#include "encode/model.h"

static const double UNKNOWN_PENALTY = 10.0;

static int find_best(const tk_model *m, const uint8_t *bytes, size_t n, tk_lattice_node *lattice) {
    const tk_unigram *unigram = &m->unigram;
    for (size_t at = 0; at <= n; at++) lattice[at].start = TK_NO_ID;
    lattice[0].score = 0.0;
    size_t arcs = 0;
    for (size_t at = 0; at < n;) {
        double here = lattice[at].score;
        unsigned length = tk_utf8_length(bytes[at]);
        int known = 0;
        uint64_t node = m->trie.root;
        for (size_t end = at; end < n && node; arcs++) {
            node = tk_trie_step(&m->trie, node, bytes[end++]);
            uint32_t id = tk_trie_id(node);
            if (!node || id == TK_NO_ID) continue;
            double score = unigram->scores[id] + here;
            tk_lattice_node *there = lattice + end;
            if (there->start == TK_NO_ID || score > there->score) *there = (tk_lattice_node){score, (uint32_t)at, id};
            known |= end - at == length;
        }
        if (!known) {
            double score = unigram->unknown_score + here;
            tk_lattice_node *there = lattice + at + length;
            if (there->start == TK_NO_ID || score > there->score) {
                if (m->unknown == TK_NO_ID) return TK_UNENCODABLE;
                *there = (tk_lattice_node){score, (uint32_t)at, m->unknown};
            }
        }
        at += length;
    }
    tk_work += arcs;
    return TK_OK;
}

/* The token or tokens of unknown characters that became one. */
static int add_unknown(const tk_model *m, tk_model_worker *w, const uint8_t *bytes, size_t start, size_t end) {
    uint32_t id = tk_trie_find(&m->trie, bytes + start, end - start);
    if (id != TK_NO_ID) return tk_sub_add(w, id, start, end);
    int fall_back = m->byte_fallback, status = TK_OK;
    for (size_t i = start; i < end && fall_back; i++) fall_back = m->bytes[bytes[i]] != TK_NO_ID;
    if (!fall_back) return tk_sub_add(w, m->unknown, start, end);
    /* From the back, as all tokens here: encode turns them round. */
    for (size_t i = end; i > start && status == TK_OK; i--) status = tk_sub_add(w, m->bytes[bytes[i - 1]], start, end);
    return status;
}

static int encode(const tk_model *m, tk_model_worker *w, const uint8_t *bytes, size_t n) {
    int status = tk_reserve(&w->lattice, &w->lattice_capacity, n + 1, sizeof(tk_lattice_node));
    if (status == TK_OK) status = find_best(m, bytes, n, w->lattice);
    for (size_t end = n; end > 0 && status == TK_OK;) {
        size_t start = w->lattice[end].start;
        uint32_t id = w->lattice[end].id;
        if (id == m->unknown) {
            while (start > 0 && w->lattice[start].id == m->unknown) start = w->lattice[start].start;
            status = add_unknown(m, w, bytes, start, end);
        } else {
            status = tk_sub_add(w, id, start, end);
        }
        end = start;
    }
    for (size_t i = 0, j = w->n_subs; i + 1 < j; i++) {
        tk_sub swapped = w->subs[--j];
        w->subs[j] = w->subs[i];
        w->subs[i] = swapped;
    }
    return status;
}

int tk_unigram_build(tk_model *m, const tk_own_tokens *own, const tk_model_options *o, int64_t *culprit) {
    int status = tk_model_begin(m, own, o, SIZE_MAX, culprit);
    m->encode = encode;
    m->unigram.scores = o->scores;
    m->unigram.unknown_score = o->least_score - UNKNOWN_PENALTY;
    return status;
}
