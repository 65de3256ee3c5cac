/* Writes the large tables of a tokenizer.json: see json_write.h. */
#include "files/json_write.h"

#include "files/decimal_write.h"

/* The letter of an escape; 'u' for one in four hexadecimal digits. */
static const uint8_t ESCAPES[256] = {
    [0] = 'u',    [1] = 'u',    [2] = 'u',    [3] = 'u',    [4] = 'u',    [5] = 'u',    [6] = 'u',    [7] = 'u',
    [8] = 'b',    [9] = 't',    [10] = 'n',   [11] = 'u',   [12] = 'f',   [13] = 'r',   [14] = 'u',   [15] = 'u',
    [16] = 'u',   [17] = 'u',   [18] = 'u',   [19] = 'u',   [20] = 'u',   [21] = 'u',   [22] = 'u',   [23] = 'u',
    [24] = 'u',   [25] = 'u',   [26] = 'u',   [27] = 'u',   [28] = 'u',   [29] = 'u',   [30] = 'u',   [31] = 'u',
    ['"'] = '"',  ['\\'] = '\\'};

enum { ESCAPED_BYTES = 6, NUMBER_BYTES = 20, QUOTES = 4, FALSE_BYTES = 5 };

TK_INLINE uint8_t *put(uint8_t *out, const uint8_t *p, size_t n) {
    if (n) memcpy(out, p, n);
    return out + n;
}

TK_INLINE uint8_t *put_text(uint8_t *out, const tk_text *text) {
    if (TK_LIKELY(text->n <= TK_SHORT)) memcpy(out, text->start, TK_SHORT);
    else memcpy(out, text->p, text->n);
    return out + text->n;
}

TK_INLINE uint8_t *put_escaped(uint8_t *out, const uint8_t *p, size_t n) {
    static const char hex[] = "0123456789abcdef";
    for (const uint8_t *end = p + n; p < end; p++) {
        const uint8_t letter = ESCAPES[*p];
        if (TK_LIKELY(!letter)) {
            *out++ = *p;
            continue;
        }
        *out++ = '\\';
        *out++ = letter;
        if (letter == 'u') {
            memcpy(out, "00", 2);
            out[2] = (uint8_t)hex[*p >> 4];
            out[3] = (uint8_t)hex[*p & 15];
            out += 4;
        }
    }
    return out;
}

TK_INLINE uint8_t *put_string(uint8_t *out, const uint8_t *p, size_t n) {
    *out++ = '"';
    out = put_escaped(out, p, n);
    *out++ = '"';
    return out;
}

TK_INLINE uint8_t *put_one(uint8_t *out, const tk_strings *strings, size_t i) {
    TK_ASSERT(strings->offsets[i] <= strings->offsets[i + 1]);
    const size_t start = (size_t)strings->offsets[i];
    return put_string(out, strings->bytes + start, (size_t)strings->offsets[i + 1] - start);
}

TK_INLINE uint8_t *put_number(uint8_t *out, int64_t number) {
    uint8_t digits[NUMBER_BYTES];
    size_t n = 0;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    if (number < 0) *out++ = '-';
    do digits[n++] = (uint8_t)('0' + rest % 10);
    while (rest /= 10);
    while (n) *out++ = digits[--n];
    return out;
}

size_t tk_json_room(const tk_json_layout *layout, size_t n, size_t n_bytes) {
    const size_t around = layout->between.n + layout->before.n + layout->middle.n + layout->after.n;
    return ESCAPED_BYTES * n_bytes + n * (around + QUOTES + TK_DECIMAL_ROOM) + TK_SHORT;
}

size_t tk_json_added_room(const tk_json_added *added, size_t n) {
    size_t around = added->between.n + added->after.n + QUOTES + NUMBER_BYTES + TK_ADDED_FLAGS * FALSE_BYTES;
    for (int i = 0; i < TK_ADDED_VALUES; i++) around += added->before[i].n;
    return TK_SHORT + n * around + ESCAPED_BYTES * (size_t)added->contents.offsets[n];
}

uint8_t *tk_json_ids(uint8_t *out, const tk_strings *tokens, const int64_t *ids, size_t n, const tk_json_layout *by) {
    for (size_t i = 0; i < n; i++) {
        if (i) out = put_text(out, &by->between);
        out = put_text(out, &by->before);
        out = put_one(out, tokens, i);
        out = put_text(out, &by->middle);
        out = put_number(out, ids[i]);
        out = put_text(out, &by->after);
    }
    return out;
}

uint8_t *tk_json_scores(uint8_t *out, const tk_strings *tokens, const double *scores, int read_back, size_t n,
                        const tk_json_layout *by, size_t *at) {
    for (size_t i = *at; i < n; i++) {
        if (i) out = put_text(out, &by->between);
        out = put_text(out, &by->before);
        out = put_one(out, tokens, i);
        out = put_text(out, &by->middle);
        const size_t n_digits = tk_decimal_write(scores[i], read_back, out);
        if (!n_digits) return *at = i, out;
        out = put_text(out + n_digits, &by->after);
    }
    *at = n;
    return out;
}

typedef struct {
    const uint8_t *p;
    size_t n;
} span;

/* One merge of two tokens. */
TK_INLINE uint8_t *put_merge(uint8_t *out, const span both[2], const tk_json_layout *by) {
    out = put_text(out, &by->before);
    *out++ = '"';
    out = put_escaped(out, both[0].p, both[0].n);
    if (by->middle.n) {
        *out++ = '"';
        out = put_text(out, &by->middle);
        *out++ = '"';
    } else {
        *out++ = ' ';
    }
    out = put_escaped(out, both[1].p, both[1].n);
    *out++ = '"';
    return put_text(out, &by->after);
}

uint8_t *tk_json_merges(uint8_t *out, const uint8_t *text, size_t n_bytes, uint8_t separator,
                        const tk_json_layout *by) {
    const uint8_t *p = text, *end = text + n_bytes;
    for (;;) {
        const uint8_t *middle = memchr(p, separator, (size_t)(end - p));
        TK_ASSERT(middle);
        const uint8_t *second = middle + 1, *last = memchr(second, 0, (size_t)(end - second));
        if (!last) last = end;
        const span both[2] = {{p, (size_t)(middle - p)}, {second, (size_t)(last - second)}};
        out = put_merge(out, both, by);
        if (last == end) return out;
        out = put_text(out, &by->between);
        p = last + 1;
    }
}

TK_INLINE span span_of(const tk_strings *strings, size_t i) {
    const size_t start = (size_t)strings->offsets[i];
    return (span){strings->bytes + start, (size_t)strings->offsets[i + 1] - start};
}

uint8_t *tk_json_merges_of(uint8_t *out, const tk_strings *tokens, const uint32_t *merges, size_t n,
                           const tk_json_layout *by) {
    for (size_t i = 0; i < n; i++) {
        const span both[2] = {span_of(tokens, merges[3 * i]), span_of(tokens, merges[3 * i + 1])};
        if (i) out = put_text(out, &by->between);
        out = put_merge(out, both, by);
    }
    return out;
}

TK_INLINE uint8_t *put_span(uint8_t *out, span text) { return put(out, text.p, text.n); }

uint8_t *tk_merge_lines(uint8_t *out, const tk_strings *tokens, const uint32_t *merges, size_t n) {
    for (size_t i = 0; i < n; i++) {
        out = put_span(out, span_of(tokens, merges[3 * i]));
        *out++ = ' ';
        out = put_span(out, span_of(tokens, merges[3 * i + 1]));
        *out++ = '\n';
    }
    return out;
}

size_t tk_first_not_joined(const tk_strings *tokens, const uint32_t *merges, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const span left = span_of(tokens, merges[3 * i]), right = span_of(tokens, merges[3 * i + 1]);
        const span result = span_of(tokens, merges[3 * i + 2]);
        if (!left.n || !right.n || result.n != left.n + right.n || memcmp(result.p, left.p, left.n) ||
            memcmp(result.p + left.n, right.p, right.n))
            return i;
    }
    return n;
}

uint8_t *tk_json_put_added(uint8_t *out, const tk_json_added *added, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (i) out = put_text(out, &added->between);
        out = put_number(put_text(out, &added->before[0]), added->ids[i]);
        out = put_one(put_text(out, &added->before[1]), &added->contents, i);
        for (int k = 0; k < TK_ADDED_FLAGS; k++) {
            const int is_set = added->flags[i] >> k & 1;
            out = put_text(out, &added->before[2 + k]);
            out = put(out, (const uint8_t *)(is_set ? "true" : "false"), is_set ? 4 : FALSE_BYTES);
        }
        out = put_text(out, &added->after);
    }
    return out;
}

void tk_spell_bytes(uint8_t *out, int64_t *ends, const tk_strings *tokens, const uint8_t *as_they_are, size_t n,
                    const tk_byte_symbol symbols[256]) {
    const uint8_t *const start = out;
    ends[0] = 0;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *p = tokens->bytes + tokens->offsets[i], *end = tokens->bytes + tokens->offsets[i + 1];
        if (as_they_are && as_they_are[i]) {
            out = put(out, p, (size_t)(end - p));
        } else {
            for (; p < end; p++) {
                memcpy(out, symbols[*p].text, 2);
                out += symbols[*p].n;
            }
        }
        ends[i + 1] = out - start;
    }
}
