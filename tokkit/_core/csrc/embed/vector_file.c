/* Reads the records and lines of vector files: concatenated keys, and rows of floats. */
#include "embed/vector_file.h"
#include "embed/decimal.h"
#include "isa.h"

static int is_space(uint8_t c) { return c == ' ' || c == '\t'; }

void tk_vector_reader_free(tk_vector_reader *r) {
    free(r->keys);
    free(r->offsets);
    free(r->starts);
    r->keys = NULL, r->offsets = NULL, r->starts = NULL;
    r->keys_capacity = r->offsets_capacity = r->starts_capacity = 0;
}

/* Take the key of row n, and with it the row. */
static int add_key(tk_vector_reader *r, const uint8_t *key, size_t n) {
    TK_ASSERT(r->n < r->capacity);
    if (tk_reserve(&r->offsets, &r->offsets_capacity, r->n + 2, sizeof *r->offsets) != TK_OK) return TK_NO_MEMORY;
    if (!r->n) r->offsets[0] = 0;
    size_t start = (size_t)r->offsets[r->n];
    if (tk_reserve(&r->keys, &r->keys_capacity, start + n, 1) != TK_OK) return TK_NO_MEMORY;
    memcpy(r->keys + start, key, n);
    r->offsets[++r->n] = (int64_t)(start + n);
    return TK_VECTOR_OK;
}

/* Whether d floats are finite: not all bits of the exponent are set. */
TK_INLINE int finite(const uint8_t *from, size_t d) {
    uint32_t bits, wrong = 0;
    for (size_t i = 0; i < d; i++) {
        memcpy(&bits, from + i * sizeof bits, sizeof bits);
        const int is_wrong = (bits & UINT32_C(0x7F800000)) == UINT32_C(0x7F800000);
        wrong |= 0u - (uint32_t)is_wrong; /* a mask, as comparing vectors makes it */
    }
    return !wrong;
}

typedef int check_floats(const uint8_t *from, size_t d);

static int are_finite(const uint8_t *from, size_t d) { return finite(from, d); }
#if TK_X86
__attribute__((target("avx2"))) static int are_finite_avx2(const uint8_t *from, size_t d) { return finite(from, d); }
#endif

static check_floats *finite_check(void) {
#if TK_X86
    if (tk_isa_supported(TK_ISA_AVX2)) return are_finite_avx2;
#endif
    return are_finite;
}

static int binary_records(tk_vector_reader *r, const uint8_t *data, size_t n, size_t *used) {
    size_t bytes = r->d * sizeof(float), at = 0;
    check_floats *are_fine = finite_check();
    *used = 0;
    while (r->n < r->capacity) {
        /* The original writes a line end after each vector, gensim does not. */
        while (at < n && data[at] == '\n') at++;
        size_t left = n - at, longest = left < TK_VECTOR_KEY_BYTES ? left : TK_VECTOR_KEY_BYTES;
        const uint8_t *space = longest ? memchr(data + at, ' ', longest) : NULL;
        if (!space) return longest == TK_VECTOR_KEY_BYTES ? TK_VECTOR_LONG_KEY : TK_VECTOR_OK;
        size_t key = (size_t)(space - (data + at));
        if (!key) return TK_VECTOR_NO_KEY;
        if (left - key - 1 < bytes) return TK_VECTOR_OK;
        if (!are_fine(space + 1, r->d)) return TK_VECTOR_NOT_FINITE;
        if (r->rows) {
            memcpy(r->rows + r->n * r->d, space + 1, bytes);
        } else {
            if (tk_reserve(&r->starts, &r->starts_capacity, r->n + 1, sizeof *r->starts) != TK_OK) return TK_NO_MEMORY;
            r->starts[r->n] = (int64_t)(r->consumed + (size_t)(space + 1 - data));
        }
        if (add_key(r, data + at, key) != TK_VECTOR_OK) return TK_NO_MEMORY;
        at += key + 1 + bytes;
        *used = at;
    }
    return TK_VECTOR_OK;
}

int tk_vectors_binary(tk_vector_reader *r, const uint8_t *data, size_t n, size_t *used) {
    TK_ASSERT(r->d && r->n <= r->capacity && (data || !n));
    const int status = binary_records(r, data, n, used);
    TK_ASSERT(*used <= n && (!r->n || (r->offsets[0] == 0 && r->offsets[r->n] > r->offsets[r->n - 1])));
    r->consumed += *used;
    return status;
}

/* Parse exactly d numbers of [p, end), which ends in no space; the number of bytes parsed, and *status. */
static size_t numbers(float *row, size_t d, const uint8_t *p, const uint8_t *end, int *status) {
    const uint8_t *start = p;
    *status = TK_VECTOR_OK;
    for (size_t i = 0; i < d; i++) {
        while (p < end && is_space(*p)) p++;
        size_t taken = tk_decimal(p, end, row + i);
        if (!taken || (p + taken < end && !is_space(p[taken]))) {
            *status = TK_VECTOR_NUMBER;
            return (size_t)(p - start);
        }
        if (!isfinite(row[i])) {
            *status = TK_VECTOR_NOT_FINITE;
            return (size_t)(p - start);
        }
        p += taken;
    }
    return (size_t)(p - start);
}

/* Whether each field of [p, end) after the first is a number. */
static int ends_in_numbers(const uint8_t *p, const uint8_t *end) {
    float value;
    while (p < end && !is_space(*p)) p++;
    while (p < end) {
        while (p < end && is_space(*p)) p++;
        size_t taken = tk_decimal(p, end, &value);
        if (!taken || (p + taken < end && !is_space(p[taken]))) return 0;
        p += taken;
    }
    return 1;
}

/* A line whose key has spaces, or that is wrong: the key is what is before the last d fields. */
static int spaced_line(tk_vector_reader *r, const uint8_t *data, const uint8_t *p, const uint8_t *end) {
    const uint8_t *start = end, *key_end;
    size_t fields = 0;
    int status;
    while (fields < r->d && start > p) {
        while (start > p && !is_space(start[-1])) start--;
        fields++;
        key_end = start;
        while (key_end > p && is_space(key_end[-1])) key_end--;
        if (fields < r->d) start = key_end;
    }
    if (start == p) { /* the first of these fields is the key, or there is none */
        r->seen = fields - 1;
        return TK_VECTOR_LENGTH;
    }
    key_end = start;
    while (key_end > p && is_space(key_end[-1])) key_end--;
    const uint8_t *first = p;
    size_t more = 0;
    for (const uint8_t *q = p; q < key_end; q++) more += is_space(*q) && !is_space(q[1]);
    if (more && ends_in_numbers(first, key_end)) {
        r->seen = r->d + more;
        return TK_VECTOR_LENGTH;
    }
    size_t taken = numbers(r->rows + r->n * r->d, r->d, start, end, &status);
    if (status != TK_VECTOR_OK) {
        const uint8_t *field = start + taken;
        r->field = (size_t)(field - data);
        for (r->seen = 0; field + r->seen < end && !is_space(field[r->seen]);) r->seen++;
        return status;
    }
    return add_key(r, p, (size_t)(key_end - p));
}

static int text_line(tk_vector_reader *r, const uint8_t *data, const uint8_t *p, const uint8_t *end) {
    const uint8_t *space = p;
    int status;
    while (end > p && (is_space(end[-1]) || end[-1] == '\r')) end--;
    if (p == end) return TK_VECTOR_OK;
    if (is_space(*p)) return TK_VECTOR_NO_KEY;
    while (space < end && !is_space(*space)) space++;
    if (space - p > TK_VECTOR_KEY_BYTES) return TK_VECTOR_LONG_KEY;
    size_t taken = numbers(r->rows + r->n * r->d, r->d, space, end, &status);
    if (status == TK_VECTOR_OK && space + taken == end) return add_key(r, p, (size_t)(space - p));
    return spaced_line(r, data, p, end);
}

int tk_vectors_text(tk_vector_reader *r, const uint8_t *data, size_t n, int last, size_t *used) {
    *used = 0;
    TK_ASSERT(r->d && r->rows && r->n <= r->capacity && (data || !n));
    while (r->n < r->capacity && *used < n) {
        const uint8_t *p = data + *used, *end = memchr(p, '\n', n - *used);
        if (!end && !last) return TK_VECTOR_OK;
        if (!end) end = data + n;
        r->line++;
        int status = text_line(r, data, p, end);
        if (status != TK_VECTOR_OK) return status;
        *used = (size_t)(end - data) + (end < data + n);
        TK_ASSERT(*used <= n);
    }
    return TK_VECTOR_OK;
}
