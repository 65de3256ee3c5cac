/* Prepends text to each piece, strips white space from its ends, or replaces text in it. */
#include "text/normalize.h"

int tk_normalize_prepend(tk_aligned *a, const uint8_t *text, size_t n) {
    TK_ASSERT(text || !n);
    size_t first = 0;
    while (first < a->n_pieces && a->pieces[first].id != TK_NO_TOKEN) first++;
    if (!n || first == a->n_pieces) return TK_OK;
    tk_rewrite w;
    tk_rewrite_begin(&w, a);
    for (size_t number = tk_rewrite_next(&w, 0); number < a->n_pieces; number = tk_rewrite_next(&w, number + 1)) {
        tk_rewrite_bytes(&w, text, n, tk_rewrite_here(&w)); /* it comes from where the first character comes from */
        tk_rewrite_keep(&w, w.end - w.at);
    }
    return tk_rewrite_end(&w, a);
}

/* ---- white space (White_Space of the Unicode Character Database) */

static int is_white(uint32_t c) {
    return c == ' ' || c - 9 < 5 || c == 0x85 || c == 0xA0 || c == 0x1680 || c - 0x2000 < 11 || c - 0x2028 < 2 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

static size_t skip_white(const uint8_t *text, size_t at, size_t end) {
    unsigned length;
    while (at < end && is_white(tk_utf8_decode(text + at, &length))) at += length;
    return at;
}

static size_t skip_white_back(const uint8_t *text, size_t start, size_t end) {
    unsigned length;
    while (end > start) {
        size_t at = end - 1;
        while (tk_is_continuation(text[at])) at--;
        TK_ASSERT(at >= start);
        if (!is_white(tk_utf8_decode(text + at, &length))) break;
        end = at;
    }
    return end;
}

int tk_normalize_strip(tk_aligned *a, int left, int right) {
    tk_cut cut;
    tk_cut_begin(&cut, a);
    for (size_t number = tk_cut_next(&cut, 0); number < a->n_pieces; number = tk_cut_next(&cut, number + 1)) {
        size_t start = a->pieces[number].start, end = a->pieces[number].end;
        if (left) start = skip_white(a->text, start, end);
        if (right) end = skip_white_back(a->text, start, end);
        tk_cut_add(&cut, start, end, TK_NO_TOKEN);
    }
    return tk_cut_end(&cut, a);
}

/* ---- replacing */

/* The first occurrence of pattern[0:n] in text[at:end], or `end`. */
static size_t find_text(const uint8_t *text, size_t at, size_t end, const uint8_t *pattern, size_t n) {
    TK_ASSERT(n && at <= end);
    while (n <= end - at) {
        const uint8_t *found = memchr(text + at, pattern[0], end - at - n + 1);
        if (!found) break;
        at = (size_t)(found - text);
        if (!memcmp(found, pattern, n)) return at;
        at++;
    }
    return end;
}

/* Where text[at:end] has the target next, or `end`; *size gets its bytes. */
static size_t find(const tk_target *t, const uint8_t *text, size_t at, size_t end, size_t *size) {
    while ((at = find_text(text, at, end, t->pattern, t->n)) < end) {
        *size = t->n - t->ahead;
        if (!t->least) break;
        while (end - at - *size >= t->n && !memcmp(text + at + *size, t->pattern, t->n)) *size += t->n;
        if (*size >= t->least * t->n) break;
        at += *size;
    }
    return at;
}

int tk_normalize_replace(tk_aligned *a, const tk_target *t, const uint8_t *content, size_t n_content) {
    TK_ASSERT(t->n && t->ahead < t->n && (!t->least || !t->ahead) && (content || !n_content));
    size_t first = 0, at = 0, size = 0, n = t->n - t->ahead;
    /* One character for another of as many bytes leaves the alignment as it is. */
    int in_place = !t->least && n == n_content && n == tk_utf8_length(*t->pattern) && n == tk_utf8_length(*content);
    for (; first < a->n_pieces; first++) {
        size_t end = a->pieces[first].end;
        if (a->pieces[first].id != TK_NO_TOKEN) continue;
        at = find(t, a->text, a->pieces[first].start, end, &size);
        for (; in_place && at < end; at = find(t, a->text, at + n, end, &size)) memcpy(a->text + at, content, n);
        if (at < end) break;
    }
    if (first == a->n_pieces) return TK_OK;
    tk_rewrite w;
    tk_rewrite_begin(&w, a);
    for (size_t number = tk_rewrite_next(&w, 0); number < a->n_pieces; number = tk_rewrite_next(&w, number + 1)) {
        if (number > first) at = find(t, a->text, w.at, w.end, &size);
        for (; number >= first && at < w.end; at = find(t, a->text, w.at, w.end, &size)) {
            tk_rewrite_keep(&w, at - w.at);
            if (w.status != TK_OK) break;
            tk_rewrite_replace(&w, size, content, n_content);
        }
        tk_rewrite_keep(&w, w.end - w.at);
    }
    return tk_rewrite_end(&w, a);
}

int tk_normalize_replace_spans(tk_aligned *a, const size_t *spans, size_t n_spans, const uint8_t *content, size_t n) {
    size_t next = 0;
    TK_ASSERT(spans || !n_spans);
    if (!n_spans) return TK_OK;
    tk_rewrite w;
    tk_rewrite_begin(&w, a);
    for (size_t number = tk_rewrite_next(&w, 0); number < a->n_pieces; number = tk_rewrite_next(&w, number + 1)) {
        for (; next < n_spans && spans[2 * next + 1] <= w.end; next++) {
            TK_ASSERT(spans[2 * next] >= w.at && spans[2 * next] <= spans[2 * next + 1]);
            tk_rewrite_keep(&w, spans[2 * next] - w.at);
            if (w.status != TK_OK) break;
            tk_rewrite_replace(&w, spans[2 * next + 1] - spans[2 * next], content, n);
        }
        tk_rewrite_keep(&w, w.end - w.at);
    }
    return tk_rewrite_end(&w, a);
}
