/* Tables from the system, arrays from malloc: see large_memory.h. */
#if defined(__linux__)
#define _GNU_SOURCE
#endif
#include "large_memory.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#define HUGE_PAGE ((size_t)2 << 20)

static void *small_table(size_t bytes) {
    /* What calloc gave stands in front of the first line. */
    void *block = tk_calloc(bytes + 2 * TK_LINE_BYTES, 1);
    if (!block) return NULL;
    void *table = (void *)(((uintptr_t)block + 2 * TK_LINE_BYTES - 1) & ~(uintptr_t)(TK_LINE_BYTES - 1));
    TK_ASSERT((char *)table - (char *)block >= (ptrdiff_t)sizeof block &&
              (char *)table + bytes <= (char *)block + bytes + 2 * TK_LINE_BYTES);
    memcpy((char *)table - sizeof block, &block, sizeof block);
    return table;
}

void *tk_table_alloc(size_t bytes) {
    if (bytes > (size_t)PTRDIFF_MAX - 2 * HUGE_PAGE) return NULL;
    if (bytes < HUGE_PAGE) return small_table(bytes);
#if defined(__linux__)
    uint8_t *p = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return NULL;
    size_t head = (size_t)(-(uintptr_t)p & (HUGE_PAGE - 1));
    if (head) munmap(p, head);
    if (head < HUGE_PAGE) munmap(p + head + bytes, HUGE_PAGE - head);
    (void)madvise(p + head, bytes, MADV_HUGEPAGE);
    TK_ASSERT((uintptr_t)(p + head) % HUGE_PAGE == 0);
    return p + head;
#else
    return small_table(bytes);
#endif
}

void tk_table_free(void *table, size_t bytes) {
    if (!table) return;
    TK_ASSERT((uintptr_t)table % TK_LINE_BYTES == 0);
#if defined(__linux__)
    if (bytes >= HUGE_PAGE) {
        munmap(table, bytes);
        return;
    }
#endif
    (void)bytes;
    void *block;
    memcpy(&block, (char *)table - sizeof block, sizeof block);
    free(block);
}

uint32_t *tk_ids_alloc(size_t count) {
    if (count > ((size_t)PTRDIFF_MAX - HUGE_PAGE) / sizeof(uint32_t)) return NULL;
#if defined(__linux__)
    size_t bytes = count * sizeof(uint32_t);
    void *ids = NULL;
    if (bytes >= 2 * HUGE_PAGE) {
        if (posix_memalign(&ids, HUGE_PAGE, bytes)) return NULL;
        (void)madvise(ids, bytes & ~(HUGE_PAGE - 1), MADV_HUGEPAGE);
        return ids;
    }
#endif
    return tk_alloc(count, sizeof(uint32_t));
}
