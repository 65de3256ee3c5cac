/* Unigram's Viterbi over the buffer: see sp_engine.h for the rules.

   tk_sp_best runs as sentencepiece does, in float32 from a given score. tk_sp_best_unit runs from 0 in double, and says
   for which scores before the unit the float32 run takes the same way. Let S be that score, b(j) the best sum to place
   j of the unit, n(j) the characters up to there, and u half a unit in the last place of the greatest amount met.
   Each candidate adds one rounding, at most u, to the error of where it starts, and the greatest of several moves no
   more than they do: |float(j) - (S + b(j))| <= n(j) u. So the winner at j stays where best(j) - second(j) > 2 n(j) u,
   and the way stays where that holds at all its places: u < r, the least of (best - second) / 2n. */
#include <math.h>

#include "sentencepiece/sp_engine.h"

enum { NOWHERE = UINT32_MAX };

static void turn_round(tk_sp_token *tokens, size_t n) {
    for (size_t i = 0, j = n; i + 1 < j; i++) {
        tk_sp_token swapped = tokens[--j];
        tokens[j] = tokens[i];
        tokens[i] = swapped;
    }
}

/* Those of an unknown character from the back, as all stand until they are turned round. */
static int add_unknown(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, size_t start, size_t end) {
    size_t first = w->n_tokens;
    int status = tk_sp_add_unknown(m, w, p, start, end);
    turn_round(w->tokens + first, w->n_tokens - first);
    return status;
}

TK_INLINE void offer(tk_sp_node *there, float score, size_t start, uint32_t id) {
    if (there->start == NOWHERE || score > there->score) *there = (tk_sp_node){score, (uint32_t)start, id};
}

int tk_sp_best(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, size_t n, float *score) {
    w->n_tokens = 0;
    if (n >= NOWHERE) return TK_TOO_LARGE;
    int status = tk_reserve(&w->nodes, &w->nodes_capacity, n + 1, sizeof(tk_sp_node));
    if (status != TK_OK) return status;
    tk_sp_node *nodes = w->nodes;
    for (size_t j = 0; j <= n; j++) nodes[j].start = NOWHERE;
    nodes[0].score = *score;
    size_t reached = 0, arcs = 0;
    for (size_t at = 0; at < n;) {
        unsigned length = tk_sp_length(p[at], n - at);
        if (TK_UNLIKELY(nodes[at].score < -(float)TK_SP_REBASE)) {
            float base = nodes[at].score;
            for (size_t j = at; j <= reached; j++)
                if (nodes[j].start != NOWHERE || j == at) nodes[j].score -= base;
        }
        float here = nodes[at].score;
        int known = 0;
        uint64_t node = m->trie.root;
        for (size_t end = at; end < n && node; arcs++) {
            node = tk_trie_step(&m->trie, node, p[end++]);
            uint32_t id = tk_trie_id(node);
            if (!node || id == TK_NO_ID) continue;
            offer(nodes + end, m->scores[id] + here, at, id);
            known |= end - at == length;
            if (end > reached) reached = end;
        }
        if (!known) {
            offer(nodes + at + length, m->unknown_score + here, at, m->unknown);
            if (at + length > reached) reached = at + length;
        }
        at += length;
    }
    tk_work += arcs;
    /* Where the text ends the scan does not arrive: the score is taken down when the next unit begins. */
    *score = nodes[n].score;
    for (size_t end = n; end > 0 && status == TK_OK; end = nodes[end].start) {
        TK_ASSERT(nodes[end].start < end);
        uint32_t id = nodes[end].id;
        status = id == m->unknown ? add_unknown(m, w, p, nodes[end].start, end)
                                  : tk_sp_add(w, id, nodes[end].start, end);
    }
    turn_round(w->tokens, w->n_tokens);
    return status;
}

/* ---- units by themselves */

typedef struct {
    double best, second;
    uint32_t start, id;
} node_of_unit;

TK_INLINE void offer_both(node_of_unit *there, double score, size_t start, uint32_t id) {
    if (score > there->best) {
        there->second = there->best;
        there->best = score;
        there->start = (uint32_t)start;
        there->id = id;
    } else if (score > there->second) {
        there->second = score;
    }
}

/* The scores below which u < r, as the amount they may have: 2^k with the greatest k for which 2^(k - 25) < r. */
static double most_for(double r) {
    int exponent;
    if (!(r > 0)) return 0;
    if (frexp(r, &exponent) == 0.5) exponent--; /* r = fraction 2^exponent, the fraction from 1/2 on and below 1 */
    exponent += 24;
    return exponent > 40 ? ldexp(1, 40) : exponent < 0 ? 0 : ldexp(1, exponent);
}

void tk_sp_best_unit(const tk_sp *m, const uint8_t *p, size_t n, tk_sp_unit *unit) {
    TK_ASSERT(n && n <= TK_SP_MAX_UNIT);
    node_of_unit nodes[TK_SP_MAX_UNIT + 1];
    uint8_t characters[TK_SP_MAX_UNIT + 1]; /* up to each place */
    double widest = 0, r = INFINITY;
    size_t count = 0, arcs = 0;
    for (size_t j = 0; j <= n; j++) nodes[j].best = nodes[j].second = -INFINITY;
    nodes[0].best = 0;
    for (size_t at = 0; at < n; count++) {
        unsigned length = tk_sp_length(p[at], n - at);
        double here = nodes[at].best;
        int known = 0;
        uint64_t node = m->trie.root;
        characters[at] = (uint8_t)count;
        for (size_t end = at; end < n && node; arcs++) {
            node = tk_trie_step(&m->trie, node, p[end++]);
            uint32_t id = tk_trie_id(node);
            if (!node || id == TK_NO_ID) continue;
            double score = here + m->scores[id];
            if (fabs(score) > widest) widest = fabs(score);
            offer_both(nodes + end, score, at, id);
            known |= end - at == length;
        }
        if (!known) {
            double score = here + m->unknown_score;
            if (fabs(score) > widest) widest = fabs(score);
            offer_both(nodes + at + length, score, at, m->unknown);
        }
        at += length;
    }
    characters[n] = (uint8_t)count;
    tk_work += arcs;
    unit->count = 0;
    for (size_t end = n; end > 0; end = nodes[end].start) {
        /* What doubles lose is far less than this. */
        double margin = (nodes[end].best - nodes[end].second - 1e-9 * (1 + widest)) / (2.0 * characters[end]);
        if (margin < r) r = margin;
        unit->ids[unit->count++] = nodes[end].id; /* an unknown stands for all its bytes here: see below */
    }
    double most = most_for(r);
    most = (most < TK_SP_REBASE ? most : TK_SP_REBASE) - widest - (double)count / 256 - 1;
    double sum = ceil(8 * fabs(nodes[n].best) + (double)count / 32);
    uint32_t limit = most > 1 && sum <= TK_SP_MAX_SUM ? (uint32_t)(most / 2) : 0;
    unit->meta = tk_sp_meta(limit, sum <= TK_SP_MAX_SUM ? (uint32_t)sum : TK_SP_MAX_SUM);
    /* The ids in order, with unknown characters spelt out in bytes where the model does. */
    uint32_t backwards[TK_SP_MAX_UNIT];
    size_t n_ids = unit->count, at = 0;
    memcpy(backwards, unit->ids, n_ids * sizeof *backwards);
    for (unit->count = 0; n_ids-- > 0;) {
        uint32_t id = backwards[n_ids];
        size_t end = n;
        if (id != m->unknown || !m->byte_fallback) {
            unit->ids[unit->count++] = id;
            continue;
        }
        for (size_t left = n_ids; left > 0; left--) end = nodes[end].start; /* of this token: `left` more follow */
        at = nodes[end].start;
        if (m->escape && p[at] == ' ') { /* three bytes for one: such a unit is not cached */
            unit->count = UINT32_MAX;
            return;
        }
        for (; at < end; at++) unit->ids[unit->count++] = m->bytes[p[at]];
    }
}
