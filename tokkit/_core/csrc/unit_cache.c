/* A number of units in, memory for them out: see unit_cache.h. */
#include "unit_cache.h"

#include "large_memory.h"

int tk_unit_cache_init(tk_unit_cache *cache, size_t units) {
    memset(cache, 0, sizeof *cache);
    if (units < 2) return TK_OK;
    size_t n = 2;
    while (n <= units / 2) n *= 2;
    if (n > (size_t)PTRDIFF_MAX / 2 / sizeof(tk_unit)) return TK_NO_MEMORY;
    cache->units = tk_table_alloc(n * sizeof(tk_unit));
    if (!cache->units) return TK_NO_MEMORY;
    cache->mask = n - 1;
    return TK_OK;
}

void tk_unit_cache_free(tk_unit_cache *cache) {
    tk_table_free(cache->units, (cache->mask + 1) * sizeof *cache->units);
    memset(cache, 0, sizeof *cache);
}
