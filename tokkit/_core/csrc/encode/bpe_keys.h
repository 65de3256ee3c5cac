/* Making the keys of words from the ends of pretokens, and prefetching their cache lines.

   The parts of the keys of a chunk are in separate arrays, so that vector code can write eight at a time. */
#ifndef TK_BPE_KEYS_H
#define TK_BPE_KEYS_H
#include "byte_kernels.h"
#include "split/scan.h"
#include "encode/word_cache.h"
#include "sentencepiece/sp_engine.h"
#if TK_X86
#include <emmintrin.h>
#endif

enum { TK_CHUNK = 2 * TK_SCAN_LIMIT }; /* pretokens a chunk at most: their keys stay in the first-level cache */

typedef struct tk_keys {
    uint64_t words[2 * TK_CHUNK]; /* low and high of each in turn, as entries have them */
    uint64_t hash[TK_CHUNK];
} tk_keys;

TK_INLINE tk_key tk_key_at(const tk_keys *keys, size_t k) {
    return (tk_key){keys->words[2 * k], keys->words[2 * k + 1], keys->hash[k]};
}

TK_INLINE void tk_put_key(tk_keys *keys, size_t k, const tk_key *key) {
    keys->words[2 * k] = key->low;
    keys->words[2 * k + 1] = key->high;
    keys->hash[k] = key->hash;
}

/* What stands for the key of a pretoken that is too long for an entry: no entry has it, and its low half is the hash
   that the table of long words goes by. */
TK_INLINE tk_key tk_long_key(const tk_cache *cache, const uint8_t *p, size_t n) {
    tk_key key = {0, UINT64_C(0x7F) << 56, 0};
    if (n > cache->longest) return key;
    key.low = tk_hash_bytes(p, n);
    TK_PREFETCH(tk_cache_long_place(cache, key.low));
    return key;
}

/* The keys of pretokens `first` to `count`, the first of which begins at `at`. */
TK_INLINE void tk_make_keys_from(size_t first, const tk_cache *cache, const uint8_t *text, size_t n, size_t at,
                                 const size_t *ends, size_t count, tk_keys *keys) {
    TK_ASSERT(count <= TK_CHUNK);
    for (size_t k = first; k < count; at = ends[k++]) {
        size_t length = ends[k] - at;
        TK_ASSERT(ends[k] > at && ends[k] <= n);
        tk_key key;
        if (TK_UNLIKELY(length > TK_SHORT_WORD)) {
            key = tk_long_key(cache, text + at, length);
        } else {
            key = tk_key_of(text + at, length, n - at);
            TK_PREFETCH(tk_cache_line(cache, key.hash));
        }
        tk_put_key(keys, k, &key);
    }
}

/* The keys of pretokens that lie from `at` on and end at ends[]. */
TK_INLINE void tk_make_keys(const tk_cache *cache, const uint8_t *text, size_t n, size_t at, const size_t *ends,
                            size_t count, tk_keys *keys) {
    size_t done = tk_kernels->bpe_keys ? tk_kernels->bpe_keys(cache, text, n, at, ends, count, keys) : 0;
    tk_make_keys_from(done, cache, text, n, done ? ends[done - 1] : at, ends, count, keys);
}

/* Ids that an entry has no room for. */
static inline size_t tk_emit_many(uint32_t *out, const tk_cache *cache, const tk_word *word) {
    const uint32_t *ids;
    size_t count = tk_cache_ids(cache, word, &ids);
    for (size_t k = 0; k < count; k++) out[k] = ids[k];
    return count;
}

/* The ids of a word, all four that an entry may hold at once: the count says how many of them stay. */
TK_INLINE size_t tk_emit_word(uint32_t *out, const tk_cache *cache, const tk_word *word) {
#if TK_X86 /* one load and one store: in parts it costs a cycle a word more */
    __m128i ids = _mm_loadu_si128((const __m128i *)word->ids);
    size_t count = (uint32_t)_mm_cvtsi128_si32(ids) >> TK_ID_BITS;
    _mm_storeu_si128((__m128i *)out, _mm_and_si128(ids, _mm_setr_epi32((int)TK_ID_MASK, -1, -1, -1)));
#else
    size_t count = word->ids[0] >> TK_ID_BITS;
    memcpy(out, word->ids, sizeof word->ids);
    out[0] &= TK_ID_MASK;
#endif
    return TK_LIKELY(count != TK_MANY_IDS) ? count : tk_emit_many(out, cache, word);
}

/* The entry of a key in its first line, or NULL. The lower halves choose between the two entries there, so that only
   the branch, which is foreseen, has to wait for the rest. Of two words that begin with the same eight bytes and stand
   in one line the second is overlooked: tk_cache_find sees it. */
TK_INLINE const tk_word *tk_probe(const uint8_t *lines, unsigned shift, const tk_keys *keys, size_t k) {
    const tk_word *word = (const tk_word *)(lines + (keys->hash[k] >> shift & TK_LINE_MASK));
    uint64_t low = keys->words[2 * k], high = keys->words[2 * k + 1];
    word += tk_unforeseen(word->low != low);
    return ((word->low ^ low) | (word->high ^ high)) == 0 ? word : NULL;
}

/* Write the ids of words from k on, as long as their first lines have them; returns the first that is missed. */
TK_INLINE size_t tk_emit_found(const tk_cache *cache, const tk_keys *keys, size_t k, size_t count, uint32_t **out) {
    const uint8_t *lines = (const uint8_t *)cache->words;
    const unsigned shift = cache->line_shift;
    uint32_t *to = *out;
    for (; k < count; k++) {
        const tk_word *word = tk_probe(lines, shift, keys, k);
        if (TK_UNLIKELY(!word)) break;
        to += tk_emit_word(to, cache, word);
    }
    *out = to;
    return k;
}

/* The same for entries that end in what tk_sp_meta tells: they hold while the amount of the score before them allows
   it, and add to that. All that changes stays in registers: through memory each unit would wait for the one before. */
TK_INLINE size_t tk_emit_scored(const tk_cache *cache, const tk_keys *keys, size_t k, size_t count, uint32_t **out,
                                uint32_t *amount) {
    const uint8_t *lines = (const uint8_t *)cache->words;
    const unsigned shift = cache->line_shift;
    uint32_t *to = *out, sum = *amount;
    for (; k < count; k++) {
        const tk_word *word = tk_probe(lines, shift, keys, k);
        if (TK_UNLIKELY(!word)) break;
        uint32_t n = word->ids[0] >> TK_ID_BITS;
        if (TK_UNLIKELY(n == TK_MANY_IDS)) break;
        uint32_t meta = word->ids[n - 1];
        if (TK_UNLIKELY(!tk_sp_meta_holds(meta, sum))) break;
        tk_emit_word(to, cache, word);
        to += n - 1;
        sum += tk_sp_meta_sum(meta);
    }
    *out = to;
    *amount = sum;
    return k;
}

#endif
