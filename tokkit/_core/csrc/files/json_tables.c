/* Reads the large tables of a tokenizer.json: see json_tables.h.

   A zero byte follows the text, and every loop stops at it, so that none compares with the end. */
#include "files/json_tables.h"

#include "files/json_hex.h"
#include "text/utf8.h"

typedef struct {
    const uint8_t *p, *start, *end;
} reader;

static const uint64_t EIGHT_SPACES = UINT64_C(0x2020202020202020);

static int is_blank(uint8_t c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

static int is_digit(uint8_t c) { return (uint8_t)(c - '0') < 10; }

/* The byte after white space. */
TK_INLINE uint8_t next(reader *r) {
    while (is_blank(*r->p)) {
        r->p++;
        while (r->end - r->p >= 8 && tk_load64(r->p) == EIGHT_SPACES) r->p += 8;
    }
    return *r->p;
}

TK_INLINE int take(reader *r, uint8_t c) { return next(r) == c && (r->p++, 1); }

/* ---- passing over

   Roughly: what is no JSON is found by who reads the text around the tables. */

/* After the string whose first quote was read; 0 where it does not end. */
static int skip_string(reader *r) {
    for (; *r->p != '"'; r->p++)
        if (*r->p < 0x20 || (*r->p == '\\' && *++r->p < 0x20)) return 0;
    r->p++;
    return 1;
}

static int skip_value(reader *r) {
    size_t depth = 0;
    do {
        uint8_t c = next(r);
        if (c < 0x20 || (!depth && (c == ',' || c == ':' || c == '}' || c == ']'))) return 0;
        r->p++;
        if (c == '"') {
            if (!skip_string(r)) return 0;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            depth--;
        } else if (c != ',' && c != ':') {
            while (*r->p > 0x20 && *r->p != ',' && *r->p != '}' && *r->p != ']') r->p++;
        }
    } while (depth);
    return 1;
}

/* ---- strings and numbers */

/* Four hexadecimal digits, or UINT32_MAX. */
static uint32_t take_hex(reader *r) {
    uint32_t value = tk_json_hex(r->p);
    if (value != UINT32_MAX) r->p += 4;
    return value;
}

/* The character of an escape after its backslash; NULL for one that is none, or half of a surrogate pair. */
static uint8_t *take_escape(reader *r, uint8_t *out) {
    switch (*r->p++) {
    case '"': return *out = '"', out + 1;
    case '\\': return *out = '\\', out + 1;
    case '/': return *out = '/', out + 1;
    case 'b': return *out = '\b', out + 1;
    case 'f': return *out = '\f', out + 1;
    case 'n': return *out = '\n', out + 1;
    case 'r': return *out = '\r', out + 1;
    case 't': return *out = '\t', out + 1;
    case 'u': break;
    default: return r->p--, NULL;
    }
    uint32_t c = take_hex(r);
    if (c == UINT32_MAX || (c & 0xFC00) == 0xDC00) return NULL;
    if ((c & 0xFC00) == 0xD800) {
        if (r->p[0] != '\\' || r->p[1] != 'u') return NULL;
        r->p += 2;
        uint32_t low = take_hex(r);
        if (low == UINT32_MAX || (low & 0xFC00) != 0xDC00) return NULL;
        c = 0x10000 + ((c & 0x3FF) << 10) + (low & 0x3FF);
    }
    return tk_utf8_put(out, c);
}

/* Append a string to the table's bytes: it is never longer than it is spelt, so there is room. */
TK_INLINE int take_string(reader *r, tk_json_table *t) {
    if (!take(r, '"')) return 0;
    const uint8_t *p = r->p;
    uint8_t *out = t->bytes + t->n_bytes;
    for (uint8_t c; (c = *p) != '"';) {
        if (TK_UNLIKELY(c == '\\')) {
            r->p = p + 1;
            if (!(out = take_escape(r, out))) return 0;
            p = r->p;
        } else {
            if (TK_UNLIKELY(c < 0x20)) return 0;
            *out++ = c;
            p++;
        }
    }
    TK_ASSERT(p < r->end && (size_t)(out - t->bytes) <= (size_t)(p - r->start));
    r->p = p + 1;
    t->n_bytes = (size_t)(out - t->bytes);
    return 1;
}

static int take_id(reader *r, uint32_t *id) {
    uint32_t value = 0;
    uint8_t c = next(r);
    if (!is_digit(c) || (c == '0' && is_digit(r->p[1]))) return 0;
    for (; is_digit(*r->p); r->p++)
        if ((value = value * 10 + (uint32_t)(*r->p - '0')) > TK_MOST_ID) return 0;
    *id = value;
    return 1;
}

#define TEN_TENS(n)                                                                                                    \
    1e##n##0, 1e##n##1, 1e##n##2, 1e##n##3, 1e##n##4, 1e##n##5, 1e##n##6, 1e##n##7, 1e##n##8, 1e##n##9
static const double TENS[] = {TEN_TENS(0), TEN_TENS(1), TEN_TENS(2), TEN_TENS(3), TEN_TENS(4), TEN_TENS(5)};

enum { MOST_DIGITS = 19, MOST_POWER = 59 }; /* 19 digits always fit 64 bits */

_Static_assert(sizeof TENS / sizeof *TENS == MOST_POWER + 1, "a power each");
_Static_assert((TK_MOST_ID + 1) % 8 == 0, "a bit each");

/* A number as tokenizers reads it: all digits as one integer, rounded, times or by a power of ten, rounded again.
   Ones of more digits, or far from 1, are left to who asked. */
static int take_score(reader *r, double *score) {
    int minus = next(r) == '-', digits = 0, power = 0, exponent = 0, whole = 1;
    uint64_t value = 0;
    r->p += minus;
    if (!is_digit(*r->p) || (*r->p == '0' && is_digit(r->p[1]))) return 0;
    for (; is_digit(*r->p); r->p++, digits++) {
        if (digits == MOST_DIGITS) return 0;
        value = value * 10 + (uint64_t)(*r->p - '0');
    }
    if (*r->p == '.') {
        whole = 0;
        if (!is_digit(*++r->p)) return 0;
        for (; is_digit(*r->p); r->p++, digits++, power--) {
            if (digits == MOST_DIGITS) return 0;
            value = value * 10 + (uint64_t)(*r->p - '0');
        }
    }
    if ((*r->p | 0x20) == 'e') {
        whole = 0;
        int negative = *++r->p == '-';
        if (*r->p == '-' || *r->p == '+') r->p++;
        if (!is_digit(*r->p)) return 0;
        for (; is_digit(*r->p); r->p++)
            if ((exponent = exponent * 10 + (*r->p - '0')) > MOST_POWER) return 0;
        power += negative ? -exponent : exponent;
    }
    if (power > MOST_POWER || power < -MOST_POWER) return 0;
    double size = (double)value;
    size = power < 0 ? size / TENS[-power] : size * TENS[power];
    *score = minus && !(whole && !value) ? -size : size; /* "-0" is an integer, which has no sign then */
    return 1;
}

/* ---- tables */

static int add_end(tk_json_table *t) {
    int status = tk_reserve(&t->ends, &t->ends_capacity, t->n + 1, sizeof *t->ends);
    if (status == TK_OK) t->ends[t->n] = (int64_t)t->n_bytes;
    return status;
}

/* The entries of {"token": id, …} after the brace. */
static int read_ids(reader *r, tk_json_table *t, uint8_t *taken) {
    t->kind = TK_IDS;
    if (take(r, '}')) return TK_OK;
    do {
        uint32_t id;
        if (!take_string(r, t) || !take(r, ':') || !take_id(r, &id) || tk_has_bit(taken, id)) return TK_BAD_INPUT;
        tk_set_bit(taken, id);
        int status = add_end(t);
        if (status == TK_OK) status = tk_reserve(&t->ids, &t->ids_capacity, t->n + 1, sizeof *t->ids);
        if (status != TK_OK) return status;
        t->ids[t->n++] = id;
    } while (take(r, ','));
    return take(r, '}') ? TK_OK : TK_BAD_INPUT;
}

/* The entries of [["token", score], …] after the bracket. */
static int read_scores(reader *r, tk_json_table *t) {
    t->kind = TK_SCORES;
    if (take(r, ']')) return TK_OK;
    do {
        double score;
        if (!take(r, '[') || !take_string(r, t) || !take(r, ',') || !take_score(r, &score) || !take(r, ']'))
            return TK_BAD_INPUT;
        int status = add_end(t);
        if (status == TK_OK) status = tk_reserve(&t->scores, &t->scores_capacity, t->n + 1, sizeof *t->scores);
        if (status != TK_OK) return status;
        t->scores[t->n++] = score;
    } while (take(r, ','));
    return take(r, ']') ? TK_OK : TK_BAD_INPUT;
}

/* A string of a merge, and the zero byte after it: a quote of the string's has room for that. */
static int take_part(reader *r, tk_json_table *t) {
    size_t before = t->n_bytes;
    if (!take_string(r, t) || memchr(t->bytes + before, 0, t->n_bytes - before)) return 0;
    t->bytes[t->n_bytes++] = 0;
    return 1;
}

/* The entries of ["left right", …] or [["left", "right"], …] after the bracket. */
static int read_merges(reader *r, tk_json_table *t) {
    int pairs = next(r) == '[';
    t->kind = pairs ? TK_PAIRS : TK_SPACED;
    if (take(r, ']')) return TK_OK;
    do {
        if (pairs && !take(r, '[')) return TK_BAD_INPUT;
        if (!take_part(r, t)) return TK_BAD_INPUT;
        if (pairs && (!take(r, ',') || !take_part(r, t) || !take(r, ']'))) return TK_BAD_INPUT;
        t->n++;
    } while (take(r, ','));
    t->n_bytes--;
    return take(r, ']') ? TK_OK : TK_BAD_INPUT;
}

static int read_table(reader *r, tk_json_table *t, int is_vocab) {
    uint8_t open = next(r);
    if (t->kind != TK_NO_TABLE || (open != '[' && !(is_vocab && open == '{'))) return TK_BAD_INPUT;
    t->start = (size_t)(r->p++ - r->start);
    t->bytes = tk_alloc((size_t)(r->end - r->p) + 1, 1);
    uint8_t *taken = is_vocab ? tk_calloc((TK_MOST_ID + 1) / 8, 1) : NULL;
    int status = t->bytes && (taken || !is_vocab) ? TK_OK : TK_NO_MEMORY;
    if (status == TK_OK)
        status = open == '{' ? read_ids(r, t, taken) : is_vocab ? read_scores(r, t) : read_merges(r, t);
    free(taken);
    t->end = (size_t)(r->p - r->start);
    return status;
}

/* ---- the objects around them */

static int is_key(const uint8_t *key, size_t n, const char *name) { return n == strlen(name) && !memcmp(key, name, n); }

/* The file, of which only "model" matters, or (with `found`) the model. */
static int read_object(reader *r, tk_json_tables *found, int is_model) {
    if (!take(r, '{')) return TK_BAD_INPUT;
    if (take(r, '}')) return TK_OK;
    do {
        if (!take(r, '"')) return TK_BAD_INPUT;
        const uint8_t *key = r->p;
        if (!skip_string(r)) return TK_BAD_INPUT;
        size_t n = (size_t)(r->p - 1 - key);
        if (!take(r, ':')) return TK_BAD_INPUT;
        int status;
        if (is_model && is_key(key, n, "vocab")) status = read_table(r, &found->vocab, 1);
        else if (is_model && is_key(key, n, "merges")) status = read_table(r, &found->merges, 0);
        else if (!is_model && is_key(key, n, "model")) status = read_object(r, found, 1);
        else status = skip_value(r) ? TK_OK : TK_BAD_INPUT;
        if (status != TK_OK) return status;
    } while (take(r, ','));
    return take(r, '}') ? TK_OK : TK_BAD_INPUT;
}

int tk_json_tables_read(tk_json_tables *found, const uint8_t *text, size_t n) {
    static const uint8_t mark[3] = {0xEF, 0xBB, 0xBF}; /* of the byte order */
    reader r = {text, text, text + n};
    TK_ASSERT(found && text && !text[n]); /* every loop stops there */
    memset(found, 0, sizeof *found);
    if (n >= sizeof mark && !memcmp(text, mark, sizeof mark)) r.p += sizeof mark;
    return read_object(&r, found, 0);
}

void tk_json_tables_free(tk_json_tables *found) {
    for (int k = 0; k < 2; k++) {
        tk_json_table *t = k ? &found->merges : &found->vocab;
        free(t->bytes);
        free(t->ends);
        free(t->ids);
        free(t->scores);
    }
    memset(found, 0, sizeof *found);
}
