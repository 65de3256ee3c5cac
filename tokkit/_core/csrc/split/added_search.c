/* Searches a text for added tokens: see added.h. */
#include "split/added.h"

#include "split/added_trie.h"
#include "text/char_kinds.h"

enum { BLOCK = 64, BEYOND = TK_ADDED_LOOK - 1 };
enum { MOST_WASTED = 256 }; /* bytes read in vain, besides one for each searched, before the window is filled */

TK_INLINE int may_begin(const tk_added_filter *f, const uint8_t *p) {
    uint8_t bits = 0xFF;
    for (unsigned k = 0; k < TK_ADDED_LOOK; k++) bits &= f->low[k][p[k] & 15] & f->high[k][p[k] >> 4];
    return bits != 0;
}

uint64_t tk_added_skip(const tk_added_filter *f, const uint8_t *text, size_t *at, size_t n) {
    for (; n - *at >= BLOCK + BEYOND; *at += BLOCK) {
        uint64_t found = 0;
        for (unsigned k = 0; k < BLOCK; k++) found |= (uint64_t)may_begin(f, text + *at + k) << k;
        if (found) return found;
    }
    return 0;
}

/* May a token begin with the eight bytes at p? */
TK_INLINE int begins_at(const tk_added *s, const uint8_t *p) {
    return s->is_short[*p] | tk_has_bit(s->begins, added_hash(s, p, 4)) | tk_has_bit(s->begins, added_hash(s, p, 6)) |
           tk_has_bit(s->begins, added_hash(s, p, 8));
}

/* The first place from i on where a token may begin, or n. */
static size_t next_candidate(const tk_added *s, const uint8_t *text, size_t n, tk_added_cursor *c, size_t i) {
    while (i < n) {
        if (i < c->block_end) {
            uint64_t left = c->candidates >> (i - c->block) << (i - c->block);
            for (; left; left &= left - 1) {
                size_t place = c->block + tk_lowest_bit(left);
                if (n - place < 8 || begins_at(s, text + place)) return place;
            }
            i = c->block_end;
            continue;
        }
        if (s->n_first < 2) { /* often all begin with "<": where there is none, memchr is faster still */
            const uint8_t *p = s->n_first ? memchr(text + i, s->only, n - i) : NULL;
            if (!p) return n;
            i = (size_t)(p - text);
        }
        c->block = i;
        c->candidates = s->by->added_skip(&s->filter, text, &c->block, n);
        c->block_end = c->block + BLOCK;
        if (!c->candidates) { /* too little is left to read beyond it */
            uint8_t rest[BLOCK + BEYOND] = {0};
            size_t length = n - c->block < BLOCK + BEYOND ? n - c->block : BLOCK + BEYOND, at = 0;
            memcpy(rest, text + c->block, length);
            c->candidates = s->by->added_skip(&s->filter, rest, &at, BLOCK + BEYOND);
            if (length < BLOCK) c->candidates &= ((uint64_t)1 << length) - 1;
        }
        i = c->block > i ? c->block : i;
    }
    return n;
}

/* The longest token at i: its number + 1, or 0. */
static uint32_t longest_at(const tk_added *s, const uint8_t *text, size_t n, tk_added_cursor *c, size_t i) {
    uint32_t node = s->root[text[i]], found = 0;
    size_t k = i + 1, end = i;
    while (node) {
        const uint32_t only = s->forward.only[node];
        if (only != UINT32_MAX) { /* no other token to choose: compare what is left of it at once */
            const size_t length = s->lengths[only - 1];
            c->wasted += 1 + length / 16;
            return n - i >= length && !memcmp(text + k, s->contents + s->starts[only - 1] + (k - i), length - (k - i))
                       ? only
                       : found;
        }
        if (s->forward.token[node]) found = s->forward.token[node], end = k;
        node = k < n ? trie_child(&s->forward, node, text[k]) : 0;
        k++;
    }
    c->wasted += k - end;
    tk_work += k - i;
    return found;
}

/* The longest token at each of the next places, read backwards. */
static void fill_window(const tk_added *s, const uint8_t *text, size_t n, tk_added_cursor *c, size_t i) {
    const size_t end = n - i < TK_ADDED_WINDOW ? n : i + TK_ADDED_WINDOW;
    TK_ASSERT(i <= n && s->fail && s->longest);
    size_t at = n - end < s->longest ? n : end + s->longest;
    tk_work += at - i;
    uint32_t node = 0;
    while (at > end) node = trie_step(&s->backward, s->fail, node, text[--at]);
    while (at > i) {
        node = trie_step(&s->backward, s->fail, node, text[--at]);
        c->window[at - i] = s->backward.token[node];
    }
    c->window_start = i;
    c->window_end = c->since = end;
    c->wasted = 0;
}

/* The next token, whatever its flags: its number + 1 and its start, or 0. */
static uint32_t find(const tk_added *s, const uint8_t *text, size_t n, tk_added_cursor *c, size_t *start) {
    size_t i = c->from;
    while (i < n) {
        uint32_t found = 0;
        if (i >= c->window_start && i < c->window_end) {
            while (i < c->window_end && !(found = c->window[i - c->window_start])) i++;
        } else {
            i = next_candidate(s, text, n, c, i);
            if (i == n) break;
            found = longest_at(s, text, n, c, i);
            if (s->fail && c->wasted > MOST_WASTED + (i - c->since)) fill_window(s, text, n, c, found ? i : i + 1);
            if (!found) i++;
        }
        if (found) return *start = i, found;
    }
    c->from = n;
    return 0;
}

static size_t white_before(const uint8_t *text, size_t at, size_t least) {
    unsigned length;
    while (at > least && tk_kinds_before(text + at, &length) & TK_WHITE) at -= length;
    return at;
}

/* The end of white space at `at`. Tokens within it ask again, and are told what was read. */
static size_t white_behind(tk_added_cursor *c, const uint8_t *text, size_t at, size_t n) {
    unsigned length;
    if (at >= c->white_start && at <= c->white_end) return c->white_end;
    c->white_start = at;
    while (at < n && tk_kinds_at(text + at, &length) & TK_WHITE) at += length;
    return c->white_end = at;
}

int tk_added_next(const tk_added *s, const uint8_t *text, size_t n, const uint8_t *allowed, tk_added_cursor *c,
                  tk_added_match *match) {
    TK_ASSERT((text || !n) && c->taken <= n);
    size_t start = 0, end;
    uint32_t found;
    unsigned length;
    while ((found = find(s, text, n, c, &start))) {
        const uint32_t number = found - 1;
        const unsigned flags = s->flags[number];
        c->from = end = start + s->lengths[number];
        TK_ASSERT(number < s->n_tokens && end > start && end <= n);
        if (allowed && !allowed[number]) continue;
        if (flags & TK_ADDED_SINGLE_WORD &&
            ((start > 0 && tk_kinds_before(text + start, &length) & TK_WORD) ||
             (end < n && tk_kinds_at(text + end, &length) & TK_WORD)))
            continue;
        if (flags & TK_ADDED_LSTRIP) start = start < c->taken ? c->taken : white_before(text, start, c->taken);
        if (flags & TK_ADDED_RSTRIP) end = white_behind(c, text, end, n);
        if (start >= end) continue; /* all of it was taken as white space */
        TK_ASSERT(end <= n);
        c->taken = end;
        *match = (tk_added_match){start, end, number};
        return 1;
    }
    return 0;
}

int tk_added_find(const tk_added *s, const uint8_t *text, size_t n, size_t from, tk_added_match *match) {
    tk_added_cursor c;
    tk_added_start(&c);
    c.from = c.taken = from;
    return tk_added_next(s, text, n, NULL, &c, match);
}

int tk_added_spans(const tk_added *s, const uint8_t *text, size_t n, size_t at, int beside) {
    const size_t last = beside && at < n ? at + 1 : at, min_end = beside ? at : at + 1;
    for (size_t i = at > s->longest ? at - s->longest : 0; i < last; i++) {
        uint32_t node = s->root[text[i]];
        for (size_t k = i + 1; node; k++) {
            if (k >= min_end && s->forward.token[node]) return 1;
            node = k < n ? trie_child(&s->forward, node, text[k]) : 0;
        }
    }
    return 0;
}

int tk_added_cut(const tk_added *s, const int64_t *ids, const uint8_t *allowed, tk_aligned *a) {
    tk_cut cut;
    tk_added_cursor c;
    tk_added_match match;
    size_t total = 0; /* pretokens that overlap may become long, taken together */
    tk_cut_begin(&cut, a);
    for (size_t number = tk_cut_next(&cut, 0); number < a->n_pieces; number = tk_cut_next(&cut, number + 1)) {
        const size_t at = a->pieces[number].start, n = a->pieces[number].end - at;
        size_t taken = 0;
        tk_added_start(&c);
        while (cut.status == TK_OK && tk_added_next(s, a->text + at, n, allowed, &c, &match)) {
            if (taken < match.start) tk_cut_add(&cut, at + taken, at + match.start, TK_NO_TOKEN);
            tk_cut_add(&cut, at + match.start, at + match.end, ids[match.number]);
            taken = c.taken;
            if ((total += match.end - match.start) > UINT32_MAX) cut.status = TK_TOO_LARGE;
        }
        tk_cut_add(&cut, at + c.taken, at + n, TK_NO_TOKEN);
    }
    return tk_cut_end(&cut, a);
}
