/* Fuzzes an automaton and a text: checks that the run loop, with a memo and without, however little is asked for at a
   time, cuts the text as trying each place in turn does. */
#include "fuzz_dfa.h"

enum { MOST = 2048 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz f = {data, data + size};
    static fz_dfa d;
    size_t limit = fz_byte(&f) + 1;
    fz_dfa_make(&f, &d);
    fz_text text = fz_spell(&f, FZ_DFA_ALPHABET, FZ_N_DFA_ALPHABET, MOST);
    size_t *wanted = malloc((text.n + 1) * sizeof *wanted), *some = malloc(limit * sizeof *some);
    size_t count = fz_dfa_scan(&d, text.p, text.n, wanted);
    tk_dfa_memo memo = {0};
    for (int pass = 0; pass < 3; pass++) { /* the second finds the memo used */
        size_t at = 0, done = 0, got;
        while ((got = tk_dfa_scan(&d.dfa, pass < 2 ? &memo : NULL, text.p, text.n, &at, some, limit))) {
            CHECK(got <= limit && done + got <= count);
            CHECK(!memcmp(some, wanted + done, got * sizeof *some));
            CHECK(at == (some[got - 1] & ~TK_DROPPED));
            done += got;
        }
        CHECK(done == count);
    }
    tk_dfa_memo_free(&memo);
    free(wanted);
    free(some);
    free(text.p);
    return 0;
}
