/* Cutting pretokens into smaller ones: see pretokenize.h. */
#include "split/pretokenize.h"

#include "text/char_kinds.h"
#include "split/dfa.h"
#include "text/script_tables.h"

/* Spans of one old pretoken, as they are found, become new ones. */
typedef struct {
    tk_cut cut;
    int behavior, invert;
    size_t start, end; /* the new pretoken at hand */
    int begun, was_match;
} tk_joiner;

TK_INLINE void joiner_flush(tk_joiner *j) {
    if (j->begun) tk_cut_add(&j->cut, j->start, j->end, TK_NO_TOKEN);
    j->begun = 0;
}

TK_INLINE void joiner_begin(tk_joiner *j, size_t start) {
    j->start = j->end = start;
    j->begun = j->was_match = 0;
}

/* The next span, which ends at `end`, and begins where the one before it did. */
TK_INLINE void joiner_add(tk_joiner *j, size_t end, int match) {
    int joins = 0;
    TK_ASSERT(end >= j->end && (match == 0 || match == 1));
    match ^= j->invert;
    switch (j->behavior) {
    case TK_REMOVED:
        if (!match) tk_cut_add(&j->cut, j->end, end, TK_NO_TOKEN);
        j->end = end;
        return;
    case TK_ISOLATED:
        tk_cut_add(&j->cut, j->end, end, TK_NO_TOKEN);
        j->end = end;
        return;
    case TK_MERGED_WITH_PREVIOUS: joins = match && !j->was_match; break;
    case TK_MERGED_WITH_NEXT: joins = !match && j->was_match; break;
    default: joins = match == j->was_match;
    }
    if (!joins || !j->begun) {
        size_t start = j->end;
        joiner_flush(j);
        j->start = start;
        j->begun = 1;
    }
    j->end = end;
    j->was_match = match;
}

static int joiner_end(tk_joiner *j, tk_aligned *a) { return tk_cut_end(&j->cut, a); }

static void joiner_init(tk_joiner *j, const tk_aligned *a, int behavior, int invert) {
    TK_ASSERT(behavior >= 0 && behavior < TK_BEHAVIORS && (invert == 0 || invert == 1));
    tk_cut_begin(&j->cut, a);
    j->behavior = behavior;
    j->invert = invert;
    joiner_begin(j, 0);
}

#define FOR_PIECES(a, cut, piece)                                                                              \
    for (size_t number = tk_cut_next(cut, 0);                                                                  \
         number < (a)->n_pieces && (piece = (a)->pieces + number, (cut)->status == TK_OK);                     \
         number = tk_cut_next(cut, number + 1))

int tk_split_by_pattern(tk_aligned *a, const tk_split *split, int behavior, int invert) {
    enum { ENDS = 256 };
    tk_joiner j;
    const tk_piece *piece;
    tk_dfa_memo memo;
    tk_split own = *split;
    size_t ends[ENDS];
    memset(&memo, 0, sizeof memo);
    own.memo = &memo;
    joiner_init(&j, a, behavior, invert);
    FOR_PIECES(a, &j.cut, piece) {
        const uint8_t *text = a->text + piece->start;
        size_t at = 0, n = piece->end - piece->start, got;
        joiner_begin(&j, piece->start);
        while ((got = tk_scan(&own, text, n, &at, ends, ENDS)))
            for (size_t k = 0; k < got; k++)
                joiner_add(&j, piece->start + (ends[k] & ~TK_DROPPED), !(ends[k] & TK_DROPPED));
        joiner_flush(&j);
    }
    tk_dfa_memo_free(&memo);
    return joiner_end(&j, a);
}

int tk_split_by_matches(tk_aligned *a, const int64_t *matches, const int64_t *counts, int behavior, int invert) {
    tk_joiner j;
    const tk_piece *piece;
    joiner_init(&j, a, behavior, invert);
    FOR_PIECES(a, &j.cut, piece) {
        joiner_begin(&j, piece->start);
        for (int64_t k = *counts++; k > 0; k--, matches += 2) {
            TK_ASSERT(matches[0] >= (int64_t)j.end && matches[1] >= matches[0] && matches[1] <= (int64_t)piece->end);
            if ((size_t)matches[0] > j.end) joiner_add(&j, (size_t)matches[0], 0);
            joiner_add(&j, (size_t)matches[1], 1);
        }
        if (j.end < piece->end) joiner_add(&j, piece->end, 0);
        joiner_flush(&j);
    }
    return joiner_end(&j, a);
}

/* Characters that are matches one by one. */
#define SPLIT_BY_CHARACTERS(a, joiner, is_match)                                                               \
    FOR_PIECES(a, &(joiner)->cut, piece) {                                                                     \
        unsigned length;                                                                                       \
        joiner_begin(joiner, piece->start);                                                                    \
        for (size_t at = piece->start; at < piece->end; at += length) {                                        \
            const uint8_t *p = (a)->text + at;                                                                 \
            if (!(is_match)) continue;                                                                         \
            if (at > (joiner)->end) joiner_add(joiner, at, 0);                                                 \
            joiner_add(joiner, at + length, 1);                                                                \
        }                                                                                                      \
        if ((joiner)->end < piece->end) joiner_add(joiner, piece->end, 0);                                     \
        joiner_flush(joiner);                                                                                  \
    }

int tk_split_by_kinds(tk_aligned *a, unsigned kinds, int behavior) {
    tk_joiner j;
    const tk_piece *piece;
    joiner_init(&j, a, behavior, 0);
    SPLIT_BY_CHARACTERS(a, &j, tk_kinds_at(p, &length) & kinds)
    return joiner_end(&j, a);
}

int tk_split_by_character(tk_aligned *a, uint32_t c, int behavior) {
    uint8_t bytes[4];
    const size_t n = (size_t)(tk_utf8_put(bytes, c) - bytes);
    tk_joiner j;
    const tk_piece *piece;
    joiner_init(&j, a, behavior, 0);
    FOR_PIECES(a, &j.cut, piece) {
        joiner_begin(&j, piece->start);
        for (size_t at = piece->start; piece->end - at >= n;) {
            const uint8_t *p = memchr(a->text + at, bytes[0], piece->end - at - (n - 1));
            if (!p) break;
            at = (size_t)(p - a->text);
            if (memcmp(p, bytes, n)) {
                at += tk_utf8_length(*p);
                continue;
            }
            if (at > j.end) joiner_add(&j, at, 0);
            joiner_add(&j, at += n, 1);
        }
        if (j.end < piece->end) joiner_add(&j, piece->end, 0);
        joiner_flush(&j);
    }
    return joiner_end(&j, a);
}

/* What a character is to a text that is cut into runs: not taken, a pretoken, or of a run of its number. */
enum { DROPPED = 0, SINGLE = 1, FIRST_RUN = 2, SECOND_RUN = 3 };

static int split_runs(tk_aligned *a, const uint8_t role_of[TK_KINDS]) {
    tk_cut cut;
    const tk_piece *piece;
    uint8_t ascii[128];
    for (int c = 0; c < 128; c++) ascii[c] = role_of[tk_ascii_kinds[c]];
    tk_cut_begin(&cut, a);
    FOR_PIECES(a, &cut, piece) {
        size_t start = piece->start;
        unsigned length, role = DROPPED, next;
        for (size_t at = start; at < piece->end; at += length) {
            const uint8_t *p = a->text + at;
            next = TK_LIKELY(*p < 0x80) ? (length = 1, ascii[*p]) : role_of[tk_kinds_at(p, &length)];
            if (next == role && next != SINGLE) continue;
            if (role != DROPPED) tk_cut_add(&cut, start, at, TK_NO_TOKEN);
            start = at;
            role = next;
        }
        if (role != DROPPED) tk_cut_add(&cut, start, piece->end, TK_NO_TOKEN);
    }
    return tk_cut_end(&cut, a);
}

int tk_split_words(tk_aligned *a) {
    uint8_t role_of[TK_KINDS];
    for (int k = 0; k < TK_KINDS; k++) role_of[k] = k & TK_WORD ? FIRST_RUN : k & TK_WHITE ? DROPPED : SECOND_RUN;
    return split_runs(a, role_of);
}

int tk_split_bert(tk_aligned *a) {
    uint8_t role_of[TK_KINDS];
    for (int k = 0; k < TK_KINDS; k++) role_of[k] = k & TK_WHITE ? DROPPED : k & TK_PUNCTUATION ? SINGLE : FIRST_RUN;
    return split_runs(a, role_of);
}

/* The run of scripts that holds c. */
static size_t script_run(uint32_t c) {
    size_t low = 0, high = TK_SCRIPT_RUNS;
    TK_ASSERT(c < 0x110000 && tk_script_runs[0] >> 8 == 0);
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (tk_script_runs[middle] >> 8 <= c) low = middle;
        else high = middle;
    }
    return low;
}

int tk_split_scripts(tk_aligned *a) {
    tk_cut cut;
    const tk_piece *piece;
    uint32_t first = 1, behind = 0, found = 0; /* the run of the character before: texts stay in few */
    uint8_t ascii[128];
    for (uint32_t run = 0, c = 0; c < 128; c++) {
        while (tk_script_runs[run + 1] >> 8 <= c) run++;
        ascii[c] = tk_script_runs[run] & 0xFF;
    }
    tk_cut_begin(&cut, a);
    FOR_PIECES(a, &cut, piece) {
        size_t start = piece->start;
        uint32_t script = 0;
        unsigned length;
        for (size_t at = start; at < piece->end; at += length) {
            uint32_t c = tk_utf8_decode(a->text + at, &length);
            if (c < 128) {
                first = behind = 0, found = ascii[c];
            } else if (c < first || c >= behind) {
                size_t run = script_run(c);
                first = tk_script_runs[run] >> 8;
                behind = run + 1 < TK_SCRIPT_RUNS ? tk_script_runs[run + 1] >> 8 : 0x110000;
                found = tk_script_runs[run] & 0xFF;
            }
            if (!found || found == script) continue;
            if (script) tk_cut_add(&cut, start, at, TK_NO_TOKEN);
            start = at;
            script = found;
        }
        if (script) tk_cut_add(&cut, start, piece->end, TK_NO_TOKEN);
    }
    return tk_cut_end(&cut, a);
}

int tk_split_fixed(tk_aligned *a, size_t length) {
    tk_cut cut;
    const tk_piece *piece;
    TK_ASSERT(length);
    tk_cut_begin(&cut, a);
    FOR_PIECES(a, &cut, piece) {
        size_t at = piece->start;
        while (at < piece->end) {
            size_t start = at;
            for (size_t k = 0; k < length && at < piece->end; k++) at += tk_utf8_length(a->text[at]);
            tk_cut_add(&cut, start, at, TK_NO_TOKEN);
        }
    }
    return tk_cut_end(&cut, a);
}
