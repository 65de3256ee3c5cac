/* Copying what a JSON string has between escapes, 64 bytes at a time: see json_lines.h, and bytes.h for the words. */
#ifndef TK_JSON_LINES_LOOPS_H
#define TK_JSON_LINES_LOOPS_H
#include "files/json_lines.h"

static const uint8_t *json_plain(const uint8_t *p, const uint8_t *end, uint8_t **written, uint64_t *beyond) {
    uint8_t *out = *written;
    uint64_t high = 0;
    while (end - p > BLOCK) {
        vb v = b_load(p);
        b_store(out, v);
        uint64_t ends = b_bits(b_between(v, 0, 0x1F)) | b_bits(b_equal(v, '"')) | b_bits(b_equal(v, '\\'));
        uint64_t wide = b_bits(b_beyond_ascii(v));
        if (!ends) {
            high |= wide;
            p += BLOCK, out += BLOCK;
            continue;
        }
        high |= wide & ((ends & (0 - ends)) - 1);
        p += tk_lowest_bit(ends), out += tk_lowest_bit(ends);
        uint8_t c = *p == '\\' ? tk_json_escapes[p[1]] : 0;
        if (!c) break;
        *out++ = c;
        p += 2;
    }
    *beyond |= high;
    *written = out;
    return p;
}

#endif
