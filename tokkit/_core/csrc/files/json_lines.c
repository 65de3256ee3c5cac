/* Reads the texts of JSON lines: see json_lines.h.

   A line ends at a line break or at the zero byte after the data; every loop stops at both. */
#include "files/json_lines.h"

#include "files/json_hex.h"
#include "text/utf8.h"

#define EACH_BYTE(byte) ((byte) * UINT64_C(0x0101010101010101))

typedef struct {
    const tk_json_texts *t;
    const uint8_t *p, *end;
    uint64_t beyond; /* not 0: a byte beyond ASCII was read */
} reader;

static int is_digit(uint8_t c) { return (uint8_t)(c - '0') < 10; }

static int is_blank(uint8_t c) { return c == ' ' || c == '\t' || c == '\r'; }

/* The byte after white space in the line. */
static uint8_t next(reader *r) {
    while (is_blank(*r->p)) r->p++;
    return *r->p;
}

static int take(reader *r, uint8_t c) { return next(r) == c && (r->p++, 1); }

/* ---- strings */

const uint8_t tk_json_escapes[256] = {
    ['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'};

const uint8_t *tk_json_plain(const uint8_t *p, const uint8_t *end, uint8_t **written, uint64_t *beyond) {
    TK_ASSERT(p <= end && written && *written && beyond);
    uint8_t *out = *written;
    for (;;) {
        for (; end - p >= 8; p += 8, out += 8) {
            uint64_t v = tk_load64(p), quote = v ^ EACH_BYTE('"'), slash = v ^ EACH_BYTE('\\');
            uint64_t found = (v - EACH_BYTE(0x20)) & ~v;
            found |= ((quote - EACH_BYTE(1)) & ~quote) | ((slash - EACH_BYTE(1)) & ~slash);
            if (found & EACH_BYTE(0x80)) break; /* in one of the eight, which the next loop finds */
            *beyond |= v & EACH_BYTE(0x80);
            memcpy(out, &v, 8);
        }
        for (; p < end && *p >= 0x20 && *p != '"' && *p != '\\'; p++) {
            *beyond |= *p & 0x80u;
            *out++ = *p;
        }
        if (end - p < 2 || *p != '\\' || !tk_json_escapes[p[1]]) break;
        *out++ = tk_json_escapes[p[1]];
        p += 2;
    }
    *written = out;
    return p;
}

/* The character of an escape after "\u"; NULL for one that is none. Half of a surrogate pair is one where `whole` is 0:
   in what is passed over. */
static uint8_t *take_character(reader *r, uint8_t *out, int whole) {
    uint32_t code = tk_json_hex(r->p);
    if (code == UINT32_MAX) return NULL;
    r->p += 4;
    if ((code & 0xFC00) == 0xD800 && r->p[0] == '\\' && r->p[1] == 'u') {
        uint32_t low = tk_json_hex(r->p + 2);
        if (low != UINT32_MAX && (low & 0xFC00) == 0xDC00) {
            code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF);
            r->p += 6;
        }
    }
    return whole && (code & 0xFFFFF800) == 0xD800 ? NULL : tk_utf8_put(out, code);
}

/* The string after its first quote to `out`; returns where it ends there, NULL if it is none. */
static uint8_t *take_string(reader *r, uint8_t *out, int whole) {
    for (;;) {
        r->p = r->t->by->json_plain(r->p, r->end, &out, &r->beyond);
        if (*r->p >= 0x20 && *r->p != '"') r->p = tk_json_plain(r->p, r->end, &out, &r->beyond);
        if (*r->p == '"') return r->p++, out;
        if (r->p[0] != '\\' || r->p[1] != 'u') return NULL;
        r->p += 2;
        if (!(out = take_character(r, out, whole))) return NULL;
    }
}

/* ---- other values, which are passed over */

static int skip_word(reader *r, const char *word) {
    for (; *word; word++, r->p++)
        if (*r->p != (uint8_t)*word) return 0;
    return 1;
}

static int skip_digits(reader *r) {
    const uint8_t *start = r->p;
    while (is_digit(*r->p)) r->p++;
    return r->p > start && r->p - start <= TK_JSON_DIGITS;
}

static int skip_number(reader *r) {
    if (*r->p == '-' && *++r->p == 'I') return skip_word(r, "Infinity");
    if (*r->p == '0') r->p++;
    else if (!skip_digits(r)) return 0;
    if (*r->p == '.' && (r->p++, !skip_digits(r))) return 0;
    if ((*r->p | 0x20) == 'e') {
        r->p++;
        if (*r->p == '+' || *r->p == '-') r->p++;
        if (!skip_digits(r)) return 0;
    }
    return 1;
}

/* `out` is room for what strings have. */
static int skip_value(reader *r, uint8_t *out, int depth) {
    TK_ASSERT(depth <= TK_JSON_DEPTH && r->p <= r->end);
    uint8_t c = next(r), last = c == '{' ? '}' : ']';
    switch (c) {
    case '"': return r->p++, take_string(r, out, 0) != NULL;
    case 't': return skip_word(r, "true");
    case 'f': return skip_word(r, "false");
    case 'n': return skip_word(r, "null");
    case 'N': return skip_word(r, "NaN");
    case 'I': return skip_word(r, "Infinity");
    case '{':
    case '[': break;
    default: return skip_number(r);
    }
    r->p++;
    if (take(r, last)) return 1;
    if (depth == TK_JSON_DEPTH) return 0;
    do {
        if (c == '{' && (!take(r, '"') || !take_string(r, out, 0) || !take(r, ':'))) return 0;
        if (!skip_value(r, out, depth + 1)) return 0;
    } while (take(r, ','));
    return take(r, last);
}

/* ---- lines */

/* The object of a line; the end of its text, which begins at `text`, or NULL. */
static uint8_t *take_object(reader *r, uint8_t *text) {
    const tk_json_texts *t = r->t;
    uint8_t *found = NULL;
    if (!take(r, '{')) return NULL;
    do {
        uint8_t *key = found ? found : text;
        if (!take(r, '"')) return NULL;
        uint8_t *key_end = take_string(r, key, 0);
        if (!key_end || !take(r, ':')) return NULL;
        if ((size_t)(key_end - key) != t->n_field || memcmp(key, t->field, t->n_field)) {
            if (!skip_value(r, key, 1)) return NULL;
        } else { /* of several with this key the last one counts */
            if (!take(r, '"') || !(found = take_string(r, text, 1))) return NULL;
        }
    } while (take(r, ','));
    return take(r, '}') ? found : NULL;
}

/* Whether the line is only of what Python calls white space in bytes. */
static int is_empty(const uint8_t *p, const uint8_t *end) {
    while (is_blank(*p) || *p == '\v' || *p == '\f') p++;
    return p == end || *p == '\n';
}

int tk_json_texts_read(tk_json_texts *t, const uint8_t *data, size_t n, size_t *at) {
    reader r = {t, data + *at, data + n, 0};
    TK_ASSERT(!n || !data[n] || data[n - 1] == '\n'); /* what ends every loop */
    TK_ASSERT(*at <= n && t->by && t->texts && (!*at || data[*at - 1] == '\n'));
    while (r.p < r.end) {
        const uint8_t *line = r.p;
        if (is_empty(r.p, r.end)) {
            while (r.p < r.end && *r.p != '\n') r.p++;
        } else {
            uint8_t *text = t->texts + t->n_texts_bytes;
            r.beyond = 0;
            uint8_t *end = take_object(&r, text);
            if (!end || (next(&r) != '\n' && r.p != r.end)) break;
            size_t length = (size_t)(r.p - line);
            if (r.beyond && tk_utf8_invalid(line, length) != length) break;
            int status = tk_reserve(&t->ends, &t->ends_capacity, t->n_texts + 1, sizeof *t->ends);
            if (status != TK_OK) return status;
            TK_ASSERT(end >= text && (size_t)(end - text) <= length); /* escapes are longer than what they stand for */
            t->n_texts_bytes = (size_t)(end - t->texts);
            t->ends[t->n_texts++] = (int64_t)t->n_texts_bytes;
        }
        if (r.p < r.end) r.p++; /* the line break */
        t->n_lines++;
        *at = (size_t)(r.p - data);
    }
    return TK_OK;
}
