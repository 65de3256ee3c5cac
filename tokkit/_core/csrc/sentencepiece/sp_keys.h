/* Making the keys of units, and prefetching their cache lines. */
#ifndef TK_SP_KEYS_H
#define TK_SP_KEYS_H
#include "byte_kernels.h"
#include "sentencepiece/sp_cache.h"

enum { TK_SP_BATCH = 64 }; /* units whose keys are made at once: they stay in the first-level cache */

typedef struct tk_sp_keys {
    uint64_t words[2 * TK_SP_BATCH]; /* low and high of each in turn, as entries have them */
    uint64_t lines[TK_SP_BATCH];
} tk_sp_keys;

/* The keys of n units of the buffer, which begin at starts[]; starts[n] is the end of the last one. */
TK_INLINE void tk_sp_make_keys(const tk_sp_cache *cache, const uint8_t *text, const uint32_t *starts, size_t n,
                               tk_sp_keys *keys) {
    size_t k = tk_kernels->sp_keys ? tk_kernels->sp_keys(cache, text, starts, n, keys) : 0;
    for (; k < n; k++) {
        tk_sp_key key = tk_sp_key_of(cache, text + starts[k], starts[k + 1] - starts[k]);
        TK_PREFETCH(cache->entries + 2 * key.line);
        keys->words[2 * k] = key.low;
        keys->words[2 * k + 1] = key.high;
        keys->lines[k] = key.line;
    }
}

#endif
