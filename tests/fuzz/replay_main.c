/* What runs a fuzz target where there is no libFuzzer: on the files that are named, and on as many made-up inputs as
   -random=N says; exit status 0 if it takes each of them. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

enum { MOST = 1 << 20, MOST_MADE = 900 };

static void give(const uint8_t *bytes, size_t n) {
    uint8_t *data = malloc(n ? n : 1); /* just as large, so that to read beyond is found */
    memcpy(data, bytes, n);
    LLVMFuzzerTestOneInput(data, n);
    free(data);
}

static uint64_t state;

static unsigned draw(unsigned n) { /* xorshift64* */
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return (unsigned)((state * UINT64_C(0x2545F4914F6CDD1D) >> 33) % n);
}

/* Any bytes, or parts of what decides: ends of ranges, whole characters of each length, and some of both repeated. */
static size_t make(uint8_t *out) {
    static const char *const parts[] = {
        "a", "Z", "9", " ", "\n", "\r", "\t", "'s", "'LL", "!", "/", "<|", "\x7f", "\x80", "\xff", "\xd8", "\xc2\xa0",
        "\xc3\xa9", "\xc3\x97", "\xc5\xbf", "\xcc\x81", "\xe2\x96\x81", "\xe2\x80\x99", "\xe4\xb8\xad", "\xe3\x80\x80",
        "\xed\x9f\xbf", "\xf0\x9f\xa6\x9c", "\xf0\xa0\x80\x80"};
    const unsigned n = draw(4) ? draw(MOST_MADE) : draw(70), how = draw(4), least = draw(sizeof parts / sizeof *parts);
    size_t at = 0;
    while (at < n) {
        unsigned which = how == 1 ? least : how == 2 && draw(8) ? least : draw(sizeof parts / sizeof *parts);
        const char *part = parts[which];
        if (!how || at < 24 || !draw(60)) out[at++] = (uint8_t)draw(256); /* the first are choices of the target */
        else while (*part) out[at++] = (uint8_t)*part++;
    }
    return at;
}

int main(int argc, char **argv) {
    uint8_t *read = malloc(MOST);
    for (int k = 1; k < argc; k++) {
        fprintf(stderr, "%s\n", argv[k]); /* the last one is the one that failed */
        if (!strncmp(argv[k], "-random=", 8)) {
            for (uint64_t seed = 1, last = strtoull(argv[k] + 8, NULL, 10); seed <= last; seed++) {
                state = seed * UINT64_C(0x9E3779B97F4A7C15);
                give(read, make(read));
            }
            continue;
        }
        FILE *file = fopen(argv[k], "rb");
        if (!file) return perror(argv[k]), 2;
        size_t n = fread(read, 1, MOST, file);
        fclose(file);
        give(read, n);
    }
    free(read);
    return 0;
}
