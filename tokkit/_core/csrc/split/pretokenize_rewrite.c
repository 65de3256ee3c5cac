/* What changes characters: byte-level symbols, visible spaces (Metaspace), and the matches of a pattern. */
#include "split/pretokenize.h"

#include "split/dfa.h"

/* The UTF-8 of a byte's symbol: the byte itself where it is printable; the others take the characters from U+0100 up,
   in their order. */
TK_INLINE size_t put_symbol(uint8_t *out, unsigned byte) {
    TK_ASSERT(byte < 256);
    uint32_t c = byte;
    if (byte <= 0x20) c = 0x100 + byte;
    else if (byte >= 0x7F && byte <= 0xA0) c = 0x121 + (byte - 0x7F);
    else if (byte == 0xAD) c = 0x143;
    if (c < 0x80) return out[0] = (uint8_t)c, 1;
    out[0] = (uint8_t)(0xC0 | c >> 6);
    out[1] = (uint8_t)(0x80 | (c & 0x3F));
    return 2;
}

int tk_byte_symbols(tk_aligned *a) {
    tk_rewrite w;
    tk_rewrite_begin(&w, a);
    for (size_t number = tk_rewrite_next(&w, 0); number < a->n_pieces; number = tk_rewrite_next(&w, number + 1)) {
        if (!tk_rewrite_room(&w, 2 * (w.end - w.at) + 2)) break; /* two bytes and spans are written at a time */
        uint8_t *out = w.made.text + w.made.n;
        tk_span *spans = w.made.spans + w.made.n;
        while (w.at < w.end) {
            tk_span span = tk_rewrite_here(&w);
            unsigned length = tk_utf8_length(a->text[w.at]);
            for (unsigned k = 0; k < length; k++) {
                size_t size = put_symbol(out, a->text[w.at + k]);
                spans[0] = spans[1] = span;
                out += size;
                spans += size;
            }
            w.at += length;
        }
        w.made.n = (size_t)(out - w.made.text);
        TK_ASSERT(w.made.n < w.made.spans_capacity && w.at == w.end);
    }
    return tk_rewrite_end(&w, a);
}

int tk_prefix_space(tk_aligned *a) {
    tk_rewrite w;
    size_t number;
    for (number = 0; number < a->n_pieces; number++)
        if (a->pieces[number].id == TK_NO_TOKEN && a->text[a->pieces[number].start] != ' ') break;
    if (number == a->n_pieces) return TK_OK;
    tk_rewrite_begin(&w, a);
    for (number = tk_rewrite_next(&w, 0); number < a->n_pieces; number = tk_rewrite_next(&w, number + 1)) {
        if (a->text[w.at] != ' ') tk_rewrite_bytes(&w, (const uint8_t *)" ", 1, tk_rewrite_here(&w));
        tk_rewrite_keep(&w, w.end - w.at);
    }
    return tk_rewrite_end(&w, a);
}

/* How many spaces are in n bytes. */
static size_t count_spaces(const uint8_t *text, size_t n) {
    enum { BLOCK = 255 }; /* as many as a byte counts: compilers make vectors of it */
    size_t spaces = 0;
    for (size_t at = 0; at < n; at += BLOCK) {
        uint8_t some = 0;
        for (size_t k = at, end = n - at < BLOCK ? n : at + BLOCK; k < end; k++) some += text[k] == ' ';
        spaces += some;
    }
    return spaces;
}

enum { RUN = 8 }; /* bytes of ASCII at a time, and as many bytes and spans may be written after what is meant */

/* How many of the next RUN bytes are ASCII but no space, from the first on. */
TK_INLINE size_t plain_run(const uint8_t *p) {
    const uint64_t high = UINT64_C(0x8080808080808080), ones = UINT64_C(0x0101010101010101);
    uint64_t bytes = tk_load64(p), other = bytes ^ ones * ' ';
    /* The lowest bit that is set is right, which is all that is asked for. */
    uint64_t stops = (bytes | ((other - ones) & ~other)) & high;
    if (!stops) return RUN;
#if defined(__GNUC__) || defined(__clang__)
    return (size_t)__builtin_ctzll(stops) >> 3;
#else
    size_t n = 0;
    while (p[n] < 0x80 && p[n] != ' ') n++;
    return n;
#endif
}

/* What is left of the pretoken, with the n bytes of a replacement for each space; there is room for it and RUN more. */
static void replace_spaces(tk_rewrite *w, const uint8_t bytes[4], size_t n) {
    const uint8_t *text = w->from->text;
    const tk_span *from = w->from->spans;
    const size_t end = w->end;
    uint8_t *out = w->made.text + w->made.n;
    tk_span *spans = w->made.spans + w->made.n;
    size_t at = w->at;
    while (at < end) {
        if (text[at] < 0x80 && end - at >= RUN) {
            size_t run = plain_run(text + at);
            memcpy(out, text + at, RUN);
            if (from) memcpy(spans, from + at, RUN * sizeof *spans);
            else
                for (uint32_t k = 0; k < RUN; k++) spans[k] = (tk_span){(uint32_t)at + k, (uint32_t)at + k + 1};
            out += run;
            spans += run;
            at += run;
            if (run == RUN || text[at] != ' ') continue;
        }
        /* The branch is foreseen in scripts that have such characters; a length looked up is waited for. */
        unsigned length = (text[at] & 0xF0) == 0xE0 ? 3 : tk_utf8_length(text[at]);
        size_t wide = text[at] == ' ' ? n : length;
        tk_span span = from ? from[at] : (tk_span){(uint32_t)at, (uint32_t)(at + length)};
        memcpy(out, text[at] == ' ' ? bytes : text + at, 4);
        spans[0] = spans[1] = spans[2] = spans[3] = span;
        out += wide;
        spans += wide;
        at += length;
    }
    w->at = at;
    w->made.n = (size_t)(out - w->made.text);
    TK_ASSERT(at == end && w->made.n + RUN <= w->made.spans_capacity);
}

int tk_metaspace(tk_aligned *a, uint32_t replacement, int scheme) {
    tk_rewrite w;
    uint8_t bytes[4] = {0};
    const size_t n = (size_t)(tk_utf8_put(bytes, replacement) - bytes);
    TK_ASSERT(scheme == TK_PREPEND_NEVER || scheme == TK_PREPEND_ALWAYS || scheme == TK_PREPEND_FIRST);
    tk_rewrite_begin(&w, a);
    for (size_t number = tk_rewrite_next(&w, 0); number < a->n_pieces; number = tk_rewrite_next(&w, number + 1)) {
        const uint8_t *start = a->text + w.at;
        tk_span span = tk_rewrite_here(&w);
        int starts = *start == ' ' || (w.end - w.at >= n && !memcmp(start, bytes, n));
        int first = span.start == 0 && a->place == TK_AT_TEXT_START;
        if (!starts && (scheme == TK_PREPEND_ALWAYS || (scheme == TK_PREPEND_FIRST && first)))
            tk_rewrite_bytes(&w, bytes, n, span); /* it belongs to the character after it, as in tokenizers */
        size_t longer = count_spaces(a->text + w.at, w.end - w.at) * (n - 1);
        if (!tk_rewrite_room(&w, w.end - w.at + longer + RUN)) break;
        replace_spaces(&w, bytes, n);
    }
    return tk_rewrite_end(&w, a);
}

int tk_normalize_replace_pattern(tk_aligned *a, const tk_split *split, const uint8_t *content, size_t n) {
    enum { ENDS = 256 };
    size_t ends[ENDS];
    tk_dfa_memo memo;
    tk_split own = *split;
    tk_rewrite w;
    int any = 0;
    TK_ASSERT(content || !n);
    memset(&memo, 0, sizeof memo);
    own.memo = &memo;
    tk_rewrite_begin(&w, a);
    for (size_t number = tk_rewrite_next(&w, 0); number < a->n_pieces; number = tk_rewrite_next(&w, number + 1)) {
        const size_t start = w.at;
        size_t at = 0, got;
        while (w.status == TK_OK && (got = tk_scan(&own, a->text + start, w.end - start, &at, ends, ENDS)))
            for (size_t k = 0; k < got && w.status == TK_OK; k++) {
                size_t size = start + (ends[k] & ~TK_DROPPED) - w.at;
                if (ends[k] & TK_DROPPED) tk_rewrite_keep(&w, size);
                else any = 1, tk_rewrite_replace(&w, size, content, n);
            }
    }
    tk_dfa_memo_free(&memo);
    TK_ASSERT(w.status != TK_OK || !w.open);
    if (!any && w.status == TK_OK) return tk_rewrite_cancel(&w);
    return tk_rewrite_end(&w, a);
}
