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
    uint8_t bytes[4];
    const size_t n = (size_t)(tk_utf8_put(bytes, replacement) - bytes);
    tk_rewrite_begin(&w, a);
    for (size_t number = tk_rewrite_next(&w, 0); number < a->n_pieces; number = tk_rewrite_next(&w, number + 1)) {
        const uint8_t *start = a->text + w.at;
        tk_span here = tk_rewrite_here(&w);
        int starts = *start == ' ' || (w.end - w.at >= n && !memcmp(start, bytes, n));
        if (!starts && (scheme == TK_PREPEND_ALWAYS || (scheme == TK_PREPEND_FIRST && here.start == 0)))
            tk_rewrite_bytes(&w, bytes, n, here); /* it belongs to the character behind it, as in tokenizers */
        while (w.at < w.end) {
            const uint8_t *space = memchr(a->text + w.at, ' ', w.end - w.at);
            size_t stop = space ? (size_t)(space - a->text) : w.end;
            tk_rewrite_keep(&w, stop - w.at);
            if (w.at < stop) break; /* no memory: the status says so */
            if (!space) break;
            tk_rewrite_bytes(&w, bytes, n, tk_rewrite_here(&w));
            tk_rewrite_drop(&w, 1);
        }
    }
    return tk_rewrite_end(&w, a);
}
