/* Copies the parts of a JSON string between escapes, 64 bytes at a time: see json_lines.h and bytes.h. */
#ifndef TK_JSON_LINES_LOOPS_H
#define TK_JSON_LINES_LOOPS_H
#include "files/json_lines.h"

/* What ends a run of plain bytes in a block is found once, and then its escapes are taken one after another. */
static const uint8_t *json_plain(const uint8_t *p, const uint8_t *end, uint8_t **written, uint64_t *beyond) {
    uint8_t *out = *written;
    uint64_t high = 0;
    while (end - p > 2 * BLOCK) {
        vb v = b_load(p);
        b_store(out, v);
        uint64_t ends = b_bits(b_between(v, 0, 0x1F)) | b_bits(b_equal(v, '"')) | b_bits(b_equal(v, '\\'));
        high |= b_bits(b_beyond_ascii(v));
        size_t at = 0; /* bytes of the block that are taken */
        while (ends) {
            const size_t k = tk_lowest_bit(ends);
            out += k - at;
            const uint8_t c = p[k] == '\\' ? tk_json_escapes[p[k + 1]] : 0;
            if (!c) {
                *beyond |= high;
                *written = out;
                return p + k;
            }
            *out++ = c;
            at = k + 2;
            b_store(out, b_load(p + at));
            ends = at < BLOCK ? ends >> at << at : 0;
        }
        if (at < BLOCK) out += BLOCK - at;
        p += at < BLOCK ? BLOCK : at;
    }
    *beyond |= high;
    *written = out;
    return p;
}

#endif
