/* Pieces in, the same with other characters in them out: bytes as symbols, and spaces that can be seen. */
#include "pretokenize.h"

/* Is the byte its own symbol? The others take the characters from U+0100 up, in their order. */
static int is_printable(unsigned byte) {
    return (byte >= 0x21 && byte < 0x7F) || (byte >= 0xA1 && byte < 0xAD) || byte >= 0xAE;
}

int tk_byte_symbols(tk_aligned *a) {
    tk_rewrite w;
    struct {
        uint8_t utf8[2], length;
    } symbols[256];
    uint32_t hidden = 0x100;
    for (unsigned byte = 0; byte < 256; byte++) {
        uint8_t utf8[4] = {0};
        symbols[byte].length = (uint8_t)(tk_utf8_put(utf8, is_printable(byte) ? byte : hidden++) - utf8);
        memcpy(symbols[byte].utf8, utf8, 2);
    }
    tk_rewrite_begin(&w, a);
    for (size_t number = tk_rewrite_next(&w, 0); number < a->n_pieces; number = tk_rewrite_next(&w, number + 1)) {
        if (!tk_rewrite_room(&w, 2 * (w.end - w.at) + 2)) break; /* two bytes and spans are written at a time */
        uint8_t *out = w.made.text + w.made.n;
        tk_span *spans = w.made.spans + w.made.n;
        while (w.at < w.end) {
            tk_span span = tk_rewrite_here(&w);
            unsigned length = tk_utf8_length(a->text[w.at]);
            for (unsigned k = 0; k < length; k++) {
                unsigned byte = a->text[w.at + k];
                memcpy(out, symbols[byte].utf8, 2);
                spans[0] = spans[1] = span;
                out += symbols[byte].length;
                spans += symbols[byte].length;
            }
            w.at += length;
        }
        w.made.n = (size_t)(out - w.made.text);
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

int tk_metaspace(tk_aligned *a, uint32_t replacement, int scheme) {
    tk_rewrite w;
    uint8_t bytes[4] = {0};
    const size_t n = (size_t)(tk_utf8_put(bytes, replacement) - bytes);
    tk_rewrite_begin(&w, a);
    for (size_t number = tk_rewrite_next(&w, 0); number < a->n_pieces; number = tk_rewrite_next(&w, number + 1)) {
        const uint8_t *start = a->text + w.at;
        tk_span span = tk_rewrite_here(&w);
        int starts = *start == ' ' || (w.end - w.at >= n && !memcmp(start, bytes, n));
        if (!starts && (scheme == TK_PREPEND_ALWAYS || (scheme == TK_PREPEND_FIRST && span.start == 0)))
            tk_rewrite_bytes(&w, bytes, n, span); /* it belongs to the character behind it, as in tokenizers */
        size_t longer = 0;
        for (size_t at = w.at; at < w.end; at++) longer += a->text[at] == ' ';
        if (!tk_rewrite_room(&w, w.end - w.at + longer * (n - 1) + 4)) break; /* four are written at a time */
        uint8_t *out = w.made.text + w.made.n;
        tk_span *spans = w.made.spans + w.made.n;
        while (w.at < w.end) {
            unsigned length = tk_utf8_length(a->text[w.at]), wide = length;
            span = tk_rewrite_here(&w);
            if (a->text[w.at] == ' ') memcpy(out, bytes, 4), wide = (unsigned)n;
            else memcpy(out, a->text + w.at, 4);
            spans[0] = spans[1] = spans[2] = spans[3] = span;
            out += wide;
            spans += wide;
            w.at += length;
        }
        w.made.n = (size_t)(out - w.made.text);
    }
    return tk_rewrite_end(&w, a);
}
