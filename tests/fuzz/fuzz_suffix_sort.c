/* Fuzzes texts over a small alphabet: checks that their suffixes are in order, all of them, up to the depth. */
#include "fuzz.h"
#include "train/suffix_sort.h"

enum { MOST = 1500 };

/* Less than 0 where the suffix at a comes before that at b, as far as the depth goes; 0 where that does not tell. */
static int compare(const tk_symbol_text *t, size_t a, size_t b) {
    for (uint32_t k = 0; k < t->depth; k++) {
        uint32_t x = t->symbols[a + k], y = t->symbols[b + k];
        if (x != y) return x < y ? -1 : 1;
        if (!x) return 0;
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    tk_symbol_text t = {.bits = fz_below(&f, 20) + 1, .depth = fz_below(&f, 40) + 1};
    const uint32_t most = (UINT32_C(1) << t.bits) - 1;
    uint8_t bytes[MOST + 64];
    size_t n = 0, wanted = 0, found = 0;
    while (f.p < f.end && n < MOST) {
        unsigned byte = fz_byte(&f);
        if (byte >= 0xF0) n = fz_repeat(&f, bytes, n, MOST);
        else bytes[n++] = (uint8_t)(byte & 0x3F); /* so that no byte looks like one within a character */
    }
    uint32_t *symbols = malloc((n + 1) * sizeof *symbols);
    tk_big_block block;
    for (size_t k = 0; k < n; k++) {
        symbols[k] = bytes[k] % 8 == 7 ? (bytes[k] * UINT32_C(2654435761)) % (most + 1) : bytes[k] % (most + 1);
        wanted += symbols[k] != 0;
    }
    symbols[n] = 0;
    t.symbols = symbols, t.n = n + 1;
    CHECK(tk_suffix_sort(&t, size % 16 ? NULL : "/tmp", &block, &found) == TK_OK);
    const uint32_t *order = block.data;
    CHECK(found == wanted);
    uint8_t *seen = calloc(n + 1, 1);
    for (size_t k = 0; k < found; k++) {
        CHECK(order[k] < n && symbols[order[k]] && !seen[order[k]]++);
        if (!k) continue;
        int order_of_two = compare(&t, order[k - 1], order[k]);
        CHECK(order_of_two <= 0);
        if (order_of_two < 0) CHECK(tk_common_prefix(&t, order[k - 1], order[k]) < t.depth);
    }
    free(seen);
    tk_big_block_free(&block);
    free(symbols);
    return 0;
}
