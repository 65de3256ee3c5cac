/* Finds where a text may be cut inside its last pretoken, which may continue: see open_piece.h. */
#include "encode/open_piece.h"

#include "text/utf8.h"

enum {
    LONGEST_TOKEN = 512, /* of vocabularies with longer ones no pretoken is divided: it would take L² steps */
    SPARE_TOKENS = 4,    /* so many of the longest lie between the place and what is known of the pretoken */
    LEAST_PIECE = 8,     /* a pretoken of less than so many of the longest is not divided */
    AHEAD = TK_DFA_CHECK + 4, /* an end that nothing can change was found by reading less than this after it */
    ENDS = 3 * AHEAD     /* among so many ends one is looked for that may be the end of the text as well */
};

static const uint32_t UNMATCHED = UINT32_MAX; /* for a row */

/* ---- the pattern */

typedef struct {
    size_t begin, reach; /* the open pretoken begins here for certain, and ends here or after */
    size_t far, near;    /* earlier ends, or 0: `far` is AHEAD or more before `near` */
    uint32_t row;
} tk_open;

/* The pretoken that was open ends at p. */
static void end_piece(tk_open *open, size_t p) {
    open->begin = open->reach = p;
    if (p - open->near >= AHEAD) open->far = open->near, open->near = p;
}

/* Run the pattern over text[from:n], of which more may follow: up to unmatched text, or where it would search on. */
static tk_open follow(const tk_dfa *dfa, const uint8_t *text, size_t n, size_t from) {
    tk_open open = {from, from, from, from, UNMATCHED};
    size_t p = from, last = from;
    uint32_t row = tk_dfa_start(dfa, text, text + from);
    unsigned length, action;
    while (p < n) {
        size_t cell = row + tk_dfa_class_at(dfa, text + p, &length);
        action = dfa->action[cell];
        if (action & (TK_DFA_TRY | TK_DFA_DROP)) return open;
        if (action & TK_DFA_BACK) {
            if (last <= open.begin || p - last > TK_DFA_CHECK) return open;
            end_piece(&open, p = last);
            row = tk_dfa_start(dfa, text, text + p);
            continue;
        }
        if (action & TK_DFA_END) end_piece(&open, p);
        if (action & TK_DFA_MARK) last = p;
        row = dfa->next[cell];
        if (tk_dfa_in_gap(dfa, row)) return open;
        p += length;
    }
    open.row = row;
    if (row && row < dfa->unsure) open.reach = n;
    else if (last > open.begin) open.reach = last;
    return open;
}

/* Whether the pattern takes text[begin:at] for one pretoken where the text ends there, and goes on after `at` as it
   does in the whole. */
static int same_split(const tk_dfa *dfa, const uint8_t *text, size_t n, const tk_open *open, size_t at) {
    tk_open anew = follow(dfa, text, n, at);
    size_t end = 0, start = open->begin;
    if (anew.begin != at || anew.row != open->row || anew.reach != open->reach) return 0;
    return tk_dfa_scan(dfa, NULL, text, at, &start, &end, 1) == 1 && end == at;
}

/* The last certain end after which nothing need stand: a pattern may want more text after a pretoken, as
   [a-z]+(?=[0-9]) does, and what is cut off ends there. Text up to `far` is cut as in the whole in any case, for an end
   after `near`. */
static size_t plain_end(const tk_dfa *dfa, tk_worker *w, const uint8_t *text, size_t n, const tk_open *open) {
    size_t ends[ENDS], found[ENDS], at = open->far, count;
    tk_dfa_memo_free(&w->memo); /* of another text */
    count = tk_dfa_scan(dfa, &w->memo, text, n, &at, ends, ENDS);
    for (; count && ends[count - 1] >= open->near; count--) {
        if (ends[count - 1] > open->begin) continue;
        at = open->far;
        tk_dfa_memo_free(&w->memo);
        size_t got = tk_dfa_scan(dfa, &w->memo, text, ends[count - 1], &at, found, count);
        if (got == count && !memcmp(found, ends, count * sizeof *ends)) break;
    }
    tk_dfa_memo_free(&w->memo);
    return count && ends[count - 1] >= open->near ? ends[count - 1] : 0;
}

/* ---- the merges */

static size_t longest_token(const tk_bpe *model) {
    size_t longest = 1;
    for (uint32_t k = 256; k < model->n; k++)
        if (model->left[k] != TK_NONE && model->length[k] > longest) longest = model->length[k];
    return longest;
}

/* Append what n bytes merge to. */
static int merge(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n) {
    int64_t end = (int64_t)n;
    return tk_merge_pieces(plan, w, p, &end, 1);
}

/* Whether two tokens may stand side by side: the first before p, the second from p on. */
static int side_by_side(const tk_plan *plan, tk_worker *w, const uint8_t *p, uint32_t left, uint32_t right,
                        int *status) {
    size_t before = w->n_ids, a = plan->emission.lengths[left], b = plan->emission.lengths[right];
    *status = merge(plan, w, p - a, a + b);
    size_t count = w->n_ids - before;
    w->n_ids = before;
    return *status == TK_OK && count == 2 && w->ids[before] == left && w->ids[before + 1] == right;
}

/* Whether text[:at], whose last token is `left`, meets what may follow as open_piece.h asks. */
static int divides(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t reach, size_t longest, size_t at,
                   uint32_t left, int *status) {
    size_t before = w->n_ids;
    uint32_t seen = UINT32_MAX; /* most of them begin with the same token */
    for (size_t q = reach; q > reach - longest; q--) {
        *status = merge(plan, w, text + at, q - at);
        w->n_ids = before;
        if (*status != TK_OK) return 0;
        uint32_t right = w->ids[before];
        if (right == seen) continue;
        if (!side_by_side(plan, w, text + at, left, right, status)) return 0;
        seen = right;
    }
    return 1;
}

/* The last boundary of ids at or before `most` that is one of characters, and the id before it; 0 for none. */
static size_t boundary(const tk_plan *plan, const tk_worker *w, const uint8_t *text, size_t most, uint32_t *left) {
    size_t found = 0, at = 0;
    for (size_t k = 0; k < w->n_ids && at <= most; k++) {
        if (at && !tk_is_continuation(text[at])) found = at, *left = w->ids[k - 1];
        at += plan->emission.lengths[w->ids[k]];
    }
    return found;
}

static int drops_bytes(const tk_bpe *model) {
    for (uint32_t k = 0; k < 256; k++)
        if (model->id[k] == TK_NONE) return 1;
    return 0;
}

size_t tk_open_cut(const tk_plan *plan, tk_worker *w, const tk_dfa *dfa, const uint8_t *text, size_t n, int inside,
                   int *status) {
    *status = TK_OK;
    if (dfa->n_contexts > 1) return 0; /* what follows a cut would not see what is before it */
    tk_open open = follow(dfa, text, n, 0);
    if (open.begin) return plain_end(dfa, w, text, n, &open);
    if (!inside) return 0;
    size_t longest = longest_token(plan->model.bpe), reach = open.reach;
    if (longest > LONGEST_TOKEN || reach < LEAST_PIECE * longest) return 0;
    /* A token that only a whole pretoken can be could be the rest. */
    if (plan->model.bpe->unreachable || drops_bytes(plan->model.bpe)) return 0;
    size_t most[2] = {reach - SPARE_TOKENS * longest, reach / 2};
    for (int k = 0; k < 2; k++) {
        uint32_t left = 0;
        w->n_ids = 0;
        if ((*status = tk_reserve_ids(w, 2 * reach)) != TK_OK || (*status = merge(plan, w, text, reach)) != TK_OK)
            return 0;
        size_t at = boundary(plan, w, text, most[k], &left);
        w->n_ids = 0;
        if (at && same_split(dfa, text, n, &open, at) && divides(plan, w, text, reach, longest, at, left, status))
            return at;
        if (*status != TK_OK) return 0;
    }
    return 0;
}
