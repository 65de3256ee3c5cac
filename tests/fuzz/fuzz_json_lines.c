/* Fuzzes any bytes as JSON lines: every instruction set reads the same, line by line too, and texts that are written as
   JSON again are read again. */
#include "fuzz.h"
#include "files/json_lines.h"

static const char *const FIELDS[] = {"text", "", "a", "\xC3\xA9", "\"\\\n"};

typedef struct {
    tk_json_texts t;
    size_t at;
} result;

/* Of text that has just as much memory as it may be read in. */
static result read_from(const fz_text *text, size_t at, int isa, const char *field) {
    result r = {{.by = tk_byte_kernels_of(isa)}, at};
    r.t.field = (const uint8_t *)field;
    r.t.n_field = strlen(field);
    r.t.texts = malloc(text->n - at + TK_JSON_SPARE);
    CHECK(tk_json_texts_read(&r.t, text->p, text->n, &r.at) == TK_OK);
    return r;
}

static void drop(result *r) {
    free(r->t.texts);
    free(r->t.ends);
}

static void check_equal(const result *a, const result *b) {
    CHECK(a->at == b->at && a->t.n_lines == b->t.n_lines && a->t.n_texts == b->t.n_texts);
    CHECK(fz_equal(a->t.texts, a->t.n_texts_bytes, b->t.texts, b->t.n_texts_bytes));
    CHECK(!a->t.n_texts || !memcmp(a->t.ends, b->t.ends, a->t.n_texts * sizeof *a->t.ends));
}

static void check(const fz_text *text, const result *r) {
    size_t lines = 0, start = 0;
    CHECK(r->at <= text->n && (!r->at || r->at == text->n || text->p[r->at - 1] == '\n'));
    for (size_t k = 0; k < r->at; k++) lines += text->p[k] == '\n';
    CHECK(r->t.n_lines == lines + (r->at && text->p[r->at - 1] != '\n'));
    CHECK(r->t.n_texts <= r->t.n_lines && r->t.n_texts_bytes <= r->at);
    for (size_t k = 0; k < r->t.n_texts; k++) {
        size_t end = (size_t)r->t.ends[k];
        CHECK(end >= start && end <= r->t.n_texts_bytes);
        CHECK(tk_utf8_invalid(r->t.texts + start, end - start) == end - start);
        start = end;
    }
    CHECK(start == r->t.n_texts_bytes);
}

/* Each line in memory of its own. */
static void check_lines(const fz_text *text, const result *whole, const char *field) {
    size_t at = 0, n_texts = 0, n_bytes = 0;
    while (at < whole->at) {
        size_t end = at;
        while (end < text->n && text->p[end] != '\n') end++;
        fz_text line = {calloc(end - at + 1, 1), end - at};
        if (line.n) memcpy(line.p, text->p + at, line.n);
        result r = read_from(&line, 0, 0, field);
        CHECK(r.at == line.n && r.t.n_texts <= 1);
        CHECK(fz_equal(r.t.texts, r.t.n_texts_bytes, whole->t.texts + n_bytes, r.t.n_texts_bytes));
        n_bytes += r.t.n_texts_bytes;
        n_texts += r.t.n_texts;
        drop(&r);
        free(line.p);
        at = end + 1;
    }
    CHECK(n_texts == whole->t.n_texts && n_bytes == whole->t.n_texts_bytes);
}

static void write_string(fz_text *out, const uint8_t *p, size_t n) {
    out->p[out->n++] = '"';
    for (size_t i = 0; i < n; i++) {
        int escaped = p[i] < 0x20 || p[i] == '"' || p[i] == '\\';
        if (escaped) out->n += (size_t)sprintf((char *)out->p + out->n, "\\u%04X", p[i]);
        else out->p[out->n++] = p[i];
    }
    out->p[out->n++] = '"';
}

/* The same texts in objects with other fields around them. */
static void check_again(const result *r, const char *field) {
    size_t start = 0;
    fz_text out = {calloc(6 * r->t.n_texts_bytes + 200 * r->t.n_texts + 1, 1), 0};
    for (size_t k = 0; k < r->t.n_texts; start = (size_t)r->t.ends[k++]) {
        out.n += (size_t)sprintf((char *)out.p + out.n, "\t{\"b\" : [1, {\"text\":-0.5e3}], \"\\uDEAD\":\"\\ud800x\",");
        write_string(&out, (const uint8_t *)field, strlen(field));
        out.p[out.n++] = ':';
        write_string(&out, r->t.texts + start, (size_t)r->t.ends[k] - start);
        out.n += (size_t)sprintf((char *)out.p + out.n, ",\"c\":{\"a\" :[], \"\":{}}} \r\n\n");
    }
    fz_text exact = fz_copy(out.p, out.n + 1);
    exact.n--;
    result again = read_from(&exact, 0, 0, field);
    CHECK(again.at == exact.n && again.t.n_texts == r->t.n_texts && again.t.n_lines == 2 * r->t.n_texts);
    CHECK(fz_equal(again.t.texts, again.t.n_texts_bytes, r->t.texts, r->t.n_texts_bytes));
    drop(&again);
    free(exact.p);
    free(out.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    const char *field = FIELDS[fz_below(&f, sizeof FIELDS / sizeof *FIELDS)];
    fz_text text = {calloc((size_t)(f.end - f.p) + 1, 1), (size_t)(f.end - f.p)}; /* a zero byte is after it */
    if (text.n) memcpy(text.p, f.p, text.n);
    result first = read_from(&text, 0, 0, field);
    check(&text, &first);
    FOR_EACH_ISA(isa) {
        result other = read_from(&text, 0, isa, field);
        check_equal(&first, &other);
        drop(&other);
    }
    check_lines(&text, &first, field);
    check_again(&first, field);
    if (first.at < text.n) { /* after the line that is left, it goes on */
        size_t next = first.at;
        while (next < text.n && text.p[next] != '\n') next++;
        if (next < text.n) {
            result rest = read_from(&text, next + 1, 0, field);
            CHECK(rest.at >= next + 1);
            drop(&rest);
        }
    }
    drop(&first);
    free(text.p);
    return 0;
}
