/* An exact cache of the ids of words, keyed by all bytes of one pretoken and owned by one thread.

   Words of up to 15 bytes have 32-byte entries, two in a cache line: the 16-byte key is the bytes and,
   in its last byte, their number, so a free entry (all zero) equals no word. Up to four ids stand inline,
   their number in the top bits of the first; more stand in the arena, and TK_MANY_IDS in these bits says so.
   A full line overflows into the next. Longer pretokens have a table of their own.
   After construction both hold the vocabulary's own words and nothing else. Bounded: at its greatest size a
   table is emptied and preloaded again. */
#ifndef TK_WORD_CACHE_H
#define TK_WORD_CACHE_H
#include "encode/bpe_model.h"

enum { TK_SHORT_WORD = 15, TK_LONGEST_CACHED = 512, TK_INLINE_IDS = 4 };
#define TK_ID_BITS 28
#define TK_ID_MASK ((UINT32_C(1) << TK_ID_BITS) - 1)
#define TK_MANY_IDS UINT32_C(15) /* in place of a number of ids */

typedef struct {
    uint64_t low, high;
    uint32_t ids[TK_INLINE_IDS]; /* count << 28 | id, id, …; or TK_MANY_IDS << 28, place in the arena, count */
} tk_word;

_Static_assert(sizeof(tk_word) == 32, "two entries in a line");

typedef struct {
    uint64_t hash;
    uint32_t bytes, length, ids, count; /* places in the arenas of bytes and ids */
} tk_long_word;

typedef struct {
    uint32_t *ids; /* the vocabulary's ids, not token numbers */
    size_t n, capacity;
} tk_id_arena;

typedef struct tk_cache {
    const tk_bpe *model;
    tk_word *words;         /* [2 << line_bits] */
    unsigned line_bits, max_line_bits;
    unsigned line_shift; /* of a hash to a line's offset in bytes, but for its six lowest bits */
    size_t n_words, n_preloaded, max_words; /* n_preloaded are the vocabulary's own, max_words what may be inserted */
    tk_id_arena many;       /* of short words with more ids than an entry holds */
    tk_long_word *long_words;
    size_t n_long, long_mask;
    size_t longest;         /* no word that is longer is there */
    uint8_t *bytes;         /* of long words */
    size_t n_bytes, bytes_capacity;
    tk_id_arena long_ids;
    int inserts, inserts_long; /* 0: only the vocabulary's own words */
    uint64_t misses;
    unsigned turn; /* which word of a line gives way next */
} tk_cache;

typedef struct {
    uint64_t low, high, hash;
} tk_key;

/* max_words: how many short words may be inserted besides the vocabulary's (0: none). Without a model, NULL, it begins
   with no words, and 1 << `lines` lines. TK_OK, TK_NO_MEMORY, or TK_BAD_INPUT where two tokens have the same bytes. */
int tk_cache_init(tk_cache *cache, const tk_bpe *model, size_t max_words, size_t lines);
/* A cache with the words of another, which no thread changes meanwhile. TK_OK or TK_NO_MEMORY. */
int tk_cache_copy(tk_cache *cache, const tk_cache *other);
void tk_cache_free(tk_cache *cache);
size_t tk_cache_memory(const tk_cache *cache);

/* Find a word; *ids gets its ids, the count is returned, 0 where it is not there. One that lies after its first
   line moves there, in place of another: words that come again and again end up where they are found at once. */
size_t tk_cache_find(tk_cache *cache, const tk_key *key, const uint32_t **ids);
size_t tk_cache_find_long(const tk_cache *cache, const uint8_t *bytes, size_t n, uint64_t hash, const uint32_t **ids);

/* Insert a word. Not to do so (no memory, or insertion is off) is no error: the answer stands. */
void tk_cache_add(tk_cache *cache, const tk_key *key, const uint32_t *ids, size_t count);
void tk_cache_add_long(tk_cache *cache, const uint8_t *bytes, size_t n, const uint32_t *ids, size_t count);

#define TK_HASH_HIGH UINT64_C(0xD6E8FEB86659FD93)
#define TK_HASH_ALL UINT64_C(0x9E3779B97F4A7C15)

/* Words are told apart by the upper bits, which all bytes reach. A hash that vectors can make as well. */
TK_INLINE void tk_key_hash(tk_key *key) { key->hash = (key->low ^ key->high * TK_HASH_HIGH) * TK_HASH_ALL; }

/* What makes a key of 16 loaded bytes, by the length of the word: the bytes to keep, and the length in its place.
   Row 16 stands for all that is longer: no entry has its key. */
typedef struct {
    uint64_t low, high, length;
} tk_key_mask;

#define TK_KEY_LOW(n) {(UINT64_C(1) << 8 * (n)) - 1, 0, (uint64_t)(n) << 56}
#define TK_KEY_HIGH(n) {UINT64_MAX, (UINT64_C(1) << 8 * ((n) - 8)) - 1, (uint64_t)(n) << 56}
static const tk_key_mask TK_KEY_MASKS[TK_SHORT_WORD + 2] = {
    TK_KEY_LOW(0),   TK_KEY_LOW(1),   TK_KEY_LOW(2),   TK_KEY_LOW(3),   TK_KEY_LOW(4),   TK_KEY_LOW(5),
    TK_KEY_LOW(6),   TK_KEY_LOW(7),   TK_KEY_HIGH(8),  TK_KEY_HIGH(9),  TK_KEY_HIGH(10), TK_KEY_HIGH(11),
    TK_KEY_HIGH(12), TK_KEY_HIGH(13), TK_KEY_HIGH(14), TK_KEY_HIGH(15), {0, 0, UINT64_C(0x7F) << 56}};
#undef TK_KEY_LOW
#undef TK_KEY_HIGH

/* The key of n bytes, where 16 may be read from p on. */
TK_INLINE tk_key tk_key_of_16(const uint8_t *p, size_t n) {
    const tk_key_mask *mask = TK_KEY_MASKS + (n < TK_SHORT_WORD + 1 ? n : TK_SHORT_WORD + 1);
    tk_key key = {tk_load64(p) & mask->low, (tk_load64(p + 8) & mask->high) | mask->length, 0};
    tk_key_hash(&key);
    return key;
}

/* The key of n bytes; `readable` bytes may be read from p on. */
TK_INLINE tk_key tk_key_of(const uint8_t *p, size_t n, size_t readable) {
    TK_ASSERT(p && n <= readable);
    if (TK_LIKELY(readable >= 16)) return tk_key_of_16(p, n);
    tk_key key = {0, (uint64_t)n << 56, 0};
    if (n >= 8) {
        key.low = tk_load64(p);
        if (n > 8) key.high |= tk_load64(p + n - 8) >> 8 * (16 - n);
    } else {
        key.low = tk_load_few(p, n);
    }
    tk_key_hash(&key);
    return key;
}

/* Where the table of long words begins to look for a hash. */
TK_INLINE tk_long_word *tk_cache_long_place(const tk_cache *cache, uint64_t hash) {
    return cache->long_words + (hash & cache->long_mask);
}

enum { TK_LINE_SHIFT = 6 }; /* a line is two entries, 64 bytes */
#define TK_LINE_MASK (~((UINT64_C(1) << TK_LINE_SHIFT) - 1))

/* The line of a hash: its upper bits are the line's number. */
TK_INLINE tk_word *tk_cache_line(const tk_cache *cache, uint64_t hash) {
    return (tk_word *)((uint8_t *)cache->words + (hash >> cache->line_shift & TK_LINE_MASK));
}

/* The ids of an entry that is taken, and their number. */
TK_INLINE size_t tk_cache_ids(const tk_cache *cache, const tk_word *word, const uint32_t **ids) {
    uint32_t count = word->ids[0] >> TK_ID_BITS;
    TK_ASSERT(word->high && (count == TK_MANY_IDS ? (size_t)word->ids[1] + word->ids[2] <= cache->many.n
                                                  : count <= TK_INLINE_IDS));
    if (count != TK_MANY_IDS) return *ids = word->ids, count;
    return *ids = cache->many.ids + word->ids[1], word->ids[2];
}

#endif
