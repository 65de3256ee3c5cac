/* Fuzzes any bytes: checks that the tables found in them are whole, and, written down and read again, the same. */
#include "fuzz.h"
#include "files/json_tables.h"

typedef struct {
    uint8_t *p;
    size_t n, capacity;
} output;

static void write_text(output *o, const void *p, size_t n) {
    CHECK(tk_reserve(&o->p, &o->capacity, o->n + n + 1, 1) == TK_OK);
    if (n) memcpy(o->p + o->n, p, n);
    o->p[o->n += n] = 0;
}

static void write_all(output *o, const char *text) { write_text(o, text, strlen(text)); }

static void write_string(output *o, const uint8_t *p, size_t n) {
    char escaped[8];
    write_all(o, "\"");
    for (size_t i = 0; i < n; i++)
        if (p[i] < 0x20 || p[i] == '"' || p[i] == '\\') {
            snprintf(escaped, sizeof escaped, "\\u%04x", p[i]);
            write_all(o, escaped);
        } else {
            write_text(o, p + i, 1);
        }
    write_all(o, "\"");
}

static void write_vocab(output *o, const tk_json_table *t) {
    char number[40];
    int64_t start = 0;
    write_all(o, t->kind == TK_IDS ? "{" : "[");
    for (size_t k = 0; k < t->n; start = t->ends[k++]) {
        if (k) write_all(o, ", ");
        if (t->kind == TK_SCORES) write_all(o, "[");
        write_string(o, t->bytes + start, (size_t)(t->ends[k] - start));
        if (t->kind == TK_IDS) snprintf(number, sizeof number, ":%u", t->ids[k]);
        else snprintf(number, sizeof number, ",%d]", (int)k);
        write_all(o, number);
    }
    write_all(o, t->kind == TK_IDS ? "}" : "]");
}

static void write_merges(output *o, const tk_json_table *t) {
    const uint8_t *p = t->bytes, *end = t->bytes + t->n_bytes;
    write_all(o, "[");
    for (size_t k = 0; k < t->n; k++) {
        if (k) write_all(o, ",\n");
        if (t->kind == TK_PAIRS) write_all(o, "[");
        for (int part = 0; part < (t->kind == TK_PAIRS ? 2 : 1); part++) {
            const uint8_t *nul = memchr(p, 0, (size_t)(end - p));
            size_t n = (size_t)((nul ? nul : end) - p);
            if (part) write_all(o, " ,");
            write_string(o, p, n);
            p += n + (p + n < end);
        }
        if (t->kind == TK_PAIRS) write_all(o, "]");
    }
    CHECK(p == end);
    write_all(o, "]");
}

static void check(const tk_json_table *t, const fz_text *text, int is_vocab) {
    if (t->kind == TK_NO_TABLE) return;
    CHECK(is_vocab ? t->kind <= TK_SCORES : t->kind >= TK_SPACED);
    CHECK(t->start < t->end && t->end <= text->n);
    CHECK(t->n_bytes <= t->end - t->start);
    CHECK(text->p[t->start] == (t->kind == TK_IDS ? '{' : '['));
    CHECK(text->p[t->end - 1] == (t->kind == TK_IDS ? '}' : ']'));
    for (size_t k = 0; k < t->n && is_vocab; k++) {
        CHECK(t->ends[k] >= (k ? t->ends[k - 1] : 0) && (size_t)t->ends[k] <= t->n_bytes);
        if (t->kind == TK_IDS) CHECK(t->ids[k] <= TK_MOST_ID);
        else CHECK(t->scores[k] > -1e80 && t->scores[k] < 1e80);
    }
    if (is_vocab) CHECK(t->n_bytes == (t->n ? (size_t)t->ends[t->n - 1] : 0));
}

static void check_again(const tk_json_table *a, const tk_json_table *b, int kind) {
    CHECK(b->kind == kind && a->n == b->n && fz_equal(a->bytes, a->n_bytes, b->bytes, b->n_bytes));
    for (size_t k = 0; k < a->n && kind <= TK_SCORES; k++) {
        CHECK(a->ends[k] == b->ends[k]);
        if (kind == TK_IDS) CHECK(a->ids[k] == b->ids[k]);
        else CHECK(b->scores[k] == (double)k);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz_text text = {calloc(size + 1, 1), size}; /* a zero byte stands behind it */
    if (size) memcpy(text.p, data, size);
    tk_json_tables found, again;
    if (tk_json_tables_read(&found, text.p, text.n) == TK_OK) {
        output o = {0};
        check(&found.vocab, &text, 1);
        check(&found.merges, &text, 0);
        write_all(&o, "{\"a\": [{\"model\": 1}, \"}\\\"\"], \"model\": {\"b\": {}");
        if (found.merges.kind != TK_NO_TABLE) write_all(&o, ",\"merges\" : "), write_merges(&o, &found.merges);
        if (found.vocab.kind != TK_NO_TABLE) write_all(&o, ", \"vocab\":"), write_vocab(&o, &found.vocab);
        write_all(&o, "}}");
        fz_text exact = fz_copy(o.p, o.n + 1);
        int status = tk_json_tables_read(&again, exact.p, o.n);
        CHECK(status == TK_OK);
        check_again(&found.vocab, &again.vocab, found.vocab.kind);
        /* Of no merges nothing says how they are spelt. */
        check_again(&found.merges, &again.merges, found.merges.n ? found.merges.kind : again.merges.kind);
        tk_json_tables_free(&again);
        free(exact.p);
        free(o.p);
    }
    tk_json_tables_free(&found);
    free(text.p);
    return 0;
}
