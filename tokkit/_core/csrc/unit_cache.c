/* A number of units in, memory for them out: see unit_cache.h. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "unit_cache.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#define HUGE_PAGE ((size_t)2 << 20)
#define LINE ((uintptr_t)64)

/* Zeroed memory in huge pages, where the system has them: units are found at random, and in small pages most of what
   finding one costs would be to find its page. NULL where there is none of the kind. */
static void *map_huge(size_t bytes) {
#if defined(__linux__)
    uint8_t *p = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    size_t head = (size_t)(-(uintptr_t)p & (HUGE_PAGE - 1));
    if (head) munmap(p, head);
    if (head < HUGE_PAGE) munmap(p + head + bytes, HUGE_PAGE - head);
    (void)madvise(p + head, bytes, MADV_HUGEPAGE);
    return p + head;
#else
    (void)bytes;
    return NULL;
#endif
}

int tk_unit_cache_init(tk_unit_cache *cache, size_t units) {
    memset(cache, 0, sizeof *cache);
    if (units < 2) return TK_OK;
    size_t n = 2;
    while (n <= units / 2) n *= 2;
    if (n > (size_t)PTRDIFF_MAX / 2 / sizeof(tk_unit)) return TK_NO_MEMORY;
    if (n * sizeof(tk_unit) >= HUGE_PAGE) {
        cache->block = map_huge(n * sizeof(tk_unit));
        if (cache->block) cache->mapped = n * sizeof(tk_unit);
    }
    if (!cache->block) cache->block = tk_calloc(n + 1, sizeof(tk_unit));
    if (!cache->block) return TK_NO_MEMORY;
    cache->units = (tk_unit *)(((uintptr_t)cache->block + LINE - 1) & ~(LINE - 1));
    cache->mask = n - 1;
    return TK_OK;
}

void tk_unit_cache_free(tk_unit_cache *cache) {
#if defined(__linux__)
    if (cache->mapped) {
        munmap(cache->block, cache->mapped);
        cache->block = NULL;
    }
#endif
    free(cache->block);
    memset(cache, 0, sizeof *cache);
}
