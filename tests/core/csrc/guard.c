/* A vocabulary, an automaton and texts in by stdin, what the core makes of them out by stdout: every text ends where
   its page ends, or begins where it begins, and the pages beside are not there. To read or write one byte too many
   is to die of it. tests/core/test_guard_page.py writes the input, in numbers of 8 bytes and items padded to 8. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "encode/plan.h"
#include "byte_kernels.h"
#include "text/utf8.h"
#undef free

extern void free(void *block);

void guard_free(void *block) { free(block); } /* by which the core is compiled to free: guard_stages.c says why */

enum { PAGES = 24, TEXT = 0, ANY_BYTES = 8, LIMIT = 256, BESIDE = 256 };

typedef struct {
    uint8_t *first, *behind; /* what may be used between two pages that may not */
} zone;

static uint8_t *input;
static size_t zone_bytes;

static void stop(const char *why, size_t text, size_t number) {
    fprintf(stderr, "text %zu: %s (%zu)\n", text, why, number);
    exit(1);
}

static uint64_t number(void) {
    uint64_t value = tk_load64(input);
    input += 8;
    return value;
}

static const void *item(size_t n) {
    const void *found = input;
    input += (n + 7) / 8 * 8;
    return found;
}

static void answer(const void *data, uint64_t count, size_t size) {
    fwrite(&count, 8, 1, stdout);
    if (count) fwrite(data, size, count, stdout);
}

static zone make_zone(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    zone_bytes = PAGES * page;
    uint8_t *base = mmap(NULL, zone_bytes + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) stop("no memory", 0, 0);
    return (zone){base + page, base + page + zone_bytes};
}

static void allow(const zone *z, int how) {
    if (mprotect(z->first, zone_bytes, how)) stop("pages cannot be protected", 0, 0);
}

/* Copy n bytes to one end of the zone; they may be read there, not written. */
static const uint8_t *place(const zone *z, const void *data, size_t n, int at_end) {
    uint8_t *to = at_end ? z->behind - n : z->first;
    if (n > zone_bytes) stop("too long", 0, n);
    allow(z, PROT_READ | PROT_WRITE);
    size_t filled = n + BESIDE < zone_bytes ? n + BESIDE : zone_bytes;
    memset(at_end ? z->behind - filled : z->first, at_end ? 0xBF : 0x20, filled); /* must not matter */
    memcpy(to, data, n);
    allow(z, PROT_READ);
    return to;
}

static size_t scan(int isa, const tk_split *split, const uint8_t *text, size_t n, size_t limit, size_t *ends) {
    size_t at = 0, count = 0, got;
    size_t *some = tk_alloc(limit, sizeof *some); /* of the right size, for sanitizers */
    tk_dfa_memo memo = {0};
    tk_split mine = *split;
    mine.memo = &memo;
    while ((got = tk_scan_by(isa, &mine, text, n, &at, some, limit))) {
        memcpy(ends + count, some, got * sizeof *ends);
        count += got;
    }
    tk_dfa_memo_free(&memo);
    free(some);
    return count;
}

/* Compare what is found beside the pages that are not there with what is found amid memory, and answer that. */
static void scan_guarded(const tk_split *split, const zone *z, const uint8_t *text, size_t n, size_t which) {
    size_t *wanted = tk_alloc(n, sizeof *wanted), *found = tk_alloc(n, sizeof *found), count = 0;
    uint8_t *roomy = tk_calloc(n + 256, 1);
    memcpy(roomy + 128, text, n);
    for (int isa = 0; isa < TK_ISAS; isa++) {
        if (!tk_isa_supported(isa)) continue;
        if (isa == 0 || split->cuts) { /* units depend on the ISA, pieces do not */
            count = scan(isa, split, roomy + 128, n, LIMIT, wanted);
            answer(wanted, count, 8);
        }
        for (int k = 0; k < 4; k++) {
            size_t limit = k & 2 ? TK_SCAN_LIMIT : LIMIT;
            size_t got = scan(isa, split, place(z, text, n, k & 1), n, limit, found);
            if (split->cuts && limit != LIMIT) continue; /* units depend on it, too */
            if (got != count || memcmp(found, wanted, got * sizeof *found)) stop("other ends", which, (size_t)isa);
        }
    }
    free(wanted);
    free(found);
    free(roomy);
}

static void encode_guarded(const tk_plan *plan, tk_worker *w, const zone *z, const uint8_t *text,
                           size_t n) {
    for (int at_end = 0; at_end < 2; at_end++)
        for (int isa = 0; isa < TK_ISAS; isa++) {
            size_t at = 0;
            if (!tk_isa_supported(isa)) continue;
            tk_isa_use(isa);
            w->n_ids = 0;
            if (tk_encode(plan, w, NULL, place(z, text, n, at_end), n, &at, n) != TK_OK) stop("no memory", 0, n);
            answer(w->ids, w->n_ids, 4);
        }
}

static void convert_guarded(const zone *z, const zone *out, const uint8_t *units, size_t bytes, int width,
                            size_t which) {
    size_t n = bytes / (unsigned)width, room = tk_utf8_bound(n, width), count = 0;
    uint8_t *wanted = tk_alloc(room, 1);
    int surrogates;
    for (int isa = 0; isa < TK_ISAS; isa++) {
        if (!tk_isa_supported(isa)) continue;
        for (int at_end = 0; at_end < 2; at_end++) {
            uint8_t *to = at_end ? out->behind - room : out->first;
            size_t got = tk_utf8_from_units_by(isa, place(z, units, bytes, at_end), n, width, to, &surrogates);
            if (isa == 0 && !at_end) memcpy(wanted, to, count = got);
            if (got != count || memcmp(wanted, to, got)) stop("other bytes", which, (size_t)isa);
        }
    }
    answer(wanted, count, 1);
    free(wanted);
}

int main(int argc, char **argv) {
    size_t size = 0, capacity = 0, got, culprit;
    do {
        if (tk_reserve(&input, &capacity, size + 65536, 1)) return 1;
        size += got = fread(input + size, 1, 65536, stdin);
    } while (got);
    tk_vocabulary v = {.whole_piece = 1};
    v.n_ids = number();
    v.offsets = item((v.n_ids + 1) * 8);
    v.blob = item((size_t)v.offsets[v.n_ids]);
    v.special = tk_calloc(v.n_ids, 1);
    tk_bpe model;
    tk_worker worker;
    tk_plan plan = {0};
    if (tk_bpe_build(&model, &v, &culprit)) return 1;
    tk_plan_bytes(&plan, &model, (tk_split){.family = TK_SCAN_O200K}, NULL, 0);
    if (tk_worker_init(&worker, &plan, 1000)) return 1;
    tk_dfa dfa = {.dropped = TK_DROPPED};
    size_t rows = number();
    dfa.n_classes = (uint32_t)number(), dfa.n_contexts = (uint32_t)number(), dfa.unsure = (uint32_t)number();
    dfa.contexts = item(dfa.n_classes - 1);
    dfa.next = item(rows * dfa.n_classes * 4);
    dfa.action = item(rows * dfa.n_classes);
    dfa.index = item(TK_DFA_CODE_BLOCKS * 2);
    dfa.blocks = item(number() * 64);
    for (int k = 0; k < 128; k++) dfa.ascii[k] = dfa.blocks[dfa.index[k / 64] * 64 + k % 64];
    zone texts = make_zone(), out = make_zone();
    allow(&out, PROT_READ | PROT_WRITE);
    if (argc > 1) return ((const volatile uint8_t *)place(&texts, "a", 1, 1))[atoi(argv[1])]; /* how it ends is known */
    size_t n_texts = number();
    for (size_t which = 0; which < n_texts; which++) {
        int kind = (int)number();
        size_t n = number();
        const uint8_t *text = item(n);
        if (kind == ANY_BYTES || kind == TEXT)
            for (int at_end = 0; at_end < 2; at_end++) {
                size_t bad = tk_utf8_invalid(place(&texts, text, n, at_end), n);
                answer(&bad, 1, 8);
            }
        if (kind == 1 || kind == 2 || kind == 4) convert_guarded(&texts, &out, text, n, kind, which);
        if (kind != TEXT) continue;
        for (int family = 0; family < TK_SCAN_FAMILIES; family++) {
            tk_split split = {.family = family}, cutting = {.family = family, .cuts = &model.cuts};
            scan_guarded(&split, &texts, text, n, which);
            scan_guarded(&cutting, &texts, text, n, which);
            if (family == TK_SCAN_O200K) encode_guarded(&plan, &worker, &texts, text, n);
        }
        tk_split by_automaton = {.dfa = &dfa};
        scan_guarded(&by_automaton, &texts, text, n, which);
    }
    return 0;
}
