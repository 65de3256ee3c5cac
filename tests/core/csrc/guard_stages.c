/* Texts in by stdin, what the stages of tokenizer.json make of them out by stdout: every text, with the bytes behind
   it that may be read, ends where its page ends, or begins where it begins, and the pages beside are not there.
   tests/core/test_guard_stages.py writes the input, in numbers of 8 bytes and items padded to 8, and compiles the
   stages so that they free by guard_free. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "split/added.h"
#include "byte_kernels.h"
#include "text/normalize.h"
#include "split/pretokenize.h"
#undef free

enum { PAGES = 16, STAGES = 22 };

static uint8_t *first, *behind; /* what may be used between two pages that may not */

extern void free(void *block);

void guard_free(void *block) {
    if ((uint8_t *)block < first || (uint8_t *)block >= behind) free(block);
}

static uint64_t number(const uint8_t **input) {
    uint64_t value = tk_load64(*input);
    *input += 8;
    return value;
}

static int run(int stage, const tk_added *added, const int64_t *ids, tk_aligned *a) {
    static const uint8_t space[] = " ", wide[] = "\xe2\x96\x81", run_of[] = "a";
    if (stage < 4) return tk_normalize_form(a, 1 << stage);
    switch (stage) {
    case 4: return tk_normalize_lowercase(a);
    case 5: return tk_normalize_strip_accents(a);
    case 6: return tk_normalize_nmt(a);
    case 7: return tk_normalize_byte_level(a);
    case 8: return tk_normalize_bert(a, 1, 1, 1, 1);
    case 9: return tk_normalize_bert(a, 1, 1, 0, 0);
    case 10: return tk_normalize_prepend(a, wide, 3);
    case 11: return tk_normalize_strip(a, 1, 1);
    case 12: return tk_normalize_replace(a, &(tk_target){.pattern = space, .n = 1}, wide, 3);
    case 13: return tk_normalize_replace(a, &(tk_target){.pattern = run_of, .n = 1, .least = 2}, space, 1);
    case 14: return tk_split_words(a);
    case 15: return tk_split_bert(a);
    case 16: return tk_split_scripts(a);
    case 17: return tk_split_fixed(a, 3);
    case 18: return tk_prefix_space(a);
    case 19: return tk_byte_symbols(a);
    case 20: return tk_metaspace(a, 0x2581, 0);
    default: return tk_added_cut(added, ids, NULL, a);
    }
}

/* The text as it is now, and where each piece starts and ends. */
static void answer(const tk_aligned *a) {
    uint64_t head[2] = {a->n, a->n_pieces};
    fwrite(head, 8, 2, stdout);
    fwrite(a->text, 1, a->n, stdout);
    for (size_t i = 0; i < a->n_pieces; i++) {
        uint64_t ends[2] = {a->pieces[i].start, a->pieces[i].end};
        fwrite(ends, 8, 2, stdout);
    }
}

int main(int argc, char **argv) {
    static const int64_t ends[] = {1, 3, 7, 9}, ids[] = {0, 1, 2, 3};
    static const uint8_t contents[] = "a<s>the\xc3\xa9";
    static const uint8_t flags[] = {0, TK_ADDED_LSTRIP | TK_ADDED_RSTRIP, TK_ADDED_SINGLE_WORD, TK_ADDED_RSTRIP};
    uint8_t *input = NULL;
    size_t size = 0, capacity = 0, got, page = (size_t)sysconf(_SC_PAGESIZE), room = PAGES * page;
    do {
        if (tk_reserve(&input, &capacity, size + 65536, 1)) return 1;
        size += got = fread(input + size, 1, 65536, stdin);
    } while (got);
    uint8_t *base = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED || mprotect(base + page, room, PROT_READ | PROT_WRITE)) return 1;
    first = base + page, behind = first + room;
    if (argc > 1) return ((const volatile uint8_t *)behind - 1)[atoi(argv[1])]; /* how it ends is known */
    tk_added added[TK_ISAS];
    for (int isa = 0; isa < TK_ISAS; isa++)
        if (tk_isa_supported(isa) && tk_added_init(&added[isa], contents, ends, flags, 4, isa)) return 1;
    const uint8_t *at = input;
    for (size_t left = number(&at); left; left--) {
        const size_t n = number(&at);
        const uint8_t *text = at;
        at += (n + 7) / 8 * 8;
        if (n + TK_ALIGNED_SLACK > room) return 1;
        for (int stage = 0; stage < STAGES; stage++)
            for (int isa = 0; isa < (stage == STAGES - 1 ? TK_ISAS : 1); isa++)
                for (int at_end = 0; tk_isa_supported(isa) && at_end < 2; at_end++) {
                    tk_aligned a;
                    uint8_t *to = at_end ? behind - n - TK_ALIGNED_SLACK : first;
                    if (tk_aligned_init(&a, text, n)) return 1;
                    memset(at_end ? first : to, at_end ? 0xBF : 0x20, room); /* must not matter */
                    memcpy(to, text, n);
                    free(a.text);
                    a.text = to;
                    if (run(stage, &added[isa], ids, &a)) return 2;
                    answer(&a);
                    guard_free(a.text);
                    free(a.spans);
                    free(a.pieces);
                }
        /* What finds added tokens in a text may read no byte behind it. */
        for (int isa = 0; isa < TK_ISAS; isa++) {
            tk_added_cursor cursor;
            tk_added_match match;
            uint64_t count = 0;
            if (!tk_isa_supported(isa)) continue;
            memcpy(behind - n, text, n);
            for (tk_added_start(&cursor); tk_added_next(&added[isa], behind - n, n, NULL, &cursor, &match);) count++;
            fwrite(&count, 8, 1, stdout);
        }
    }
    return 0;
}
