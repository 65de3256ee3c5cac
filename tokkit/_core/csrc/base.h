/* Basics for all other C files of the core: attributes, checked allocation, small helpers. */
#ifndef TK_BASE_H
#define TK_BASE_H
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef TK_CHECKS
#include <stdio.h>
#endif

typedef uint32_t tk_token;

/* Every status that a C-level function returns, as an int. Below 0 it failed: the Cython layer (base.pxd) turns the
   status into an exception once the GIL is back. Above 0 it stopped where its caller can continue. */
enum tk_status {
    TK_NO_DISK = -7,     /* the file system of a folder has too little space, or files there cannot be mapped */
    TK_GROWN = -6,       /* stages would make more of a text than the caller allows */
    TK_UNSUPPORTED = -5, /* the plan cannot encode this text; the components must run one by one */
    TK_UNENCODABLE = -4, /* a character has no token, and the model has no unknown token */
    TK_TOO_LARGE = -3,
    TK_BAD_INPUT = -2,
    TK_NO_MEMORY = -1,
    TK_OK = 0,
    TK_NEEDS_FALLBACK = 1, /* a character cannot be changed by itself */
    TK_BLOCK_READ = 2,     /* a block of a run has no more words */
    TK_MERGE_WANTS = 3,    /* a merge of runs needs the next block of one, */
    TK_MERGE_FULL = 4,     /* or has filled its output */
    TK_NO_MERGE = 5,       /* two tokens may not become one */
    TK_QUEUE_EMPTY = 6
};

#if defined(__GNUC__) || defined(__clang__)
#define TK_LIKELY(x) __builtin_expect(!!(x), 1)
#define TK_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TK_PREFETCH(p) __builtin_prefetch(p)
#define TK_PREFETCH_WRITE(p) __builtin_prefetch(p, 1)
#define TK_PREFETCH_TO(p, cache) __builtin_prefetch(p, 0, cache) /* 3: the first, 2: the second */
/* Keeps a pointer in a register: gcc may put one of several that advance together into memory or a vector. */
#define TK_PIN_POINTER(p) __asm__("" : "+r"(p))
#define TK_NOINLINE __attribute__((noinline))
#define TK_INLINE static inline __attribute__((always_inline))
#else
#define TK_LIKELY(x) (x)
#define TK_UNLIKELY(x) (x)
#define TK_PREFETCH(p) ((void)(p))
#define TK_PREFETCH_WRITE(p) ((void)(p))
#define TK_PREFETCH_TO(p, cache) ((void)(p))
#define TK_PIN_POINTER(p) ((void)(p))
#define TK_NOINLINE
#define TK_INLINE static inline
#endif

/* States what must hold. With TK_CHECKS (debug and sanitizer builds, fuzz targets) a condition that does not hold is
   printed, and the process ends. Without, nothing is evaluated or generated, and the compiler may not assume it. */
#ifdef TK_CHECKS
_Noreturn static inline void tk_assert_failed(const char *file, int line, const char *condition) {
    fprintf(stderr, "%s:%d: TK_ASSERT(%s) does not hold\n", file, line, condition);
    abort();
}
#define TK_ASSERT(condition) ((condition) ? (void)0 : tk_assert_failed(__FILE__, __LINE__, #condition))
#else
#define TK_ASSERT(condition) ((void)sizeof(!(condition)))
#endif

/* How far loops have gone in this thread that could go further than a text is long: bytes read, merges tried, nodes
   of lattices. It is counted always, once a loop; tests/project/test_scaling.py sees it grow. */
extern _Thread_local uint64_t tk_work;

/* count * size bytes, or NULL where the product does not fit or memory is short. */
static inline void *tk_alloc(size_t count, size_t size) {
    if (size && count > (size_t)PTRDIFF_MAX / size) return NULL;
    size_t bytes = count * size;
    return malloc(bytes ? bytes : 1);
}

static inline void *tk_calloc(size_t count, size_t size) {
    if (size && count > (size_t)PTRDIFF_MAX / size) return NULL;
    return calloc(count ? count : 1, size ? size : 1);
}

/* Make *block hold at least `need` items, growing by half as much again; 0 or TK_NO_MEMORY. */
static inline int tk_reserve(void *block, size_t *capacity, size_t need, size_t size) {
    TK_ASSERT(block && capacity && size);
    if (need <= *capacity) return TK_OK;
    size_t grown = *capacity + *capacity / 2 + 64;
    if (grown < need) grown = need;
    if (grown > (size_t)PTRDIFF_MAX / size) return TK_NO_MEMORY;
    void *old, *moved;
    memcpy(&old, block, sizeof old);
    moved = realloc(old, grown * size);
    if (!moved) return TK_NO_MEMORY;
    memcpy(block, &moved, sizeof moved);
    *capacity = grown;
    return TK_OK;
}

/* Give back what *block holds if that is more than `most` bytes. */
static inline void tk_shrink(void *block, size_t *capacity, size_t size, size_t most) {
    void *old, *none = NULL;
    TK_ASSERT(block && capacity && size);
    if (*capacity <= most / size) return;
    memcpy(&old, block, sizeof old);
    free(old);
    memcpy(block, &none, sizeof none);
    *capacity = 0;
}

TK_INLINE int tk_has_bit(const uint8_t *bits, size_t i) { return bits[i >> 3] >> (i & 7) & 1; }

static inline void tk_set_bit(uint8_t *bits, size_t i) { bits[i >> 3] |= (uint8_t)(1u << (i & 7)); }

/* The place of the lowest bit of bits, which are not 0. */
TK_INLINE unsigned tk_lowest_bit(uint64_t bits) {
    TK_ASSERT(bits);
#if defined(__GNUC__) || defined(__clang__)
    return (unsigned)__builtin_ctzll(bits);
#else
    unsigned k = 0;
    while (!(bits >> k & 1)) k++;
    return k;
#endif
}

static inline uint64_t tk_load64(const void *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

/* The number that n bytes are, n up to 7. In registers: what is copied byte by byte cannot be loaded at once. */
static inline uint64_t tk_load_few(const uint8_t *p, size_t n) {
    uint32_t first, last;
    if (n >= 4) {
        memcpy(&first, p, 4);
        memcpy(&last, p + n - 4, 4);
        return first | (uint64_t)last << 8 * (n - 4);
    }
    return n ? p[0] | (uint32_t)p[n / 2] << 8 * (n / 2) | (uint32_t)p[n - 1] << 8 * (n - 1) : 0;
}

static inline uint64_t tk_mix64(uint64_t x) {
    x ^= x >> 32;
    x *= UINT64_C(0x9E3779B97F4A7C15);
    x ^= x >> 29;
    return x;
}

/* A hash of n bytes for tables that compare the bytes afterwards. */
static inline uint64_t tk_hash_bytes(const uint8_t *p, size_t n) {
    uint64_t h = UINT64_C(0x2545F4914F6CDD1D) ^ (n * UINT64_C(0x9FB21C651E98DF25));
    for (; n >= 8; p += 8, n -= 8) h = (h ^ tk_load64(p)) * UINT64_C(0x9E3779B97F4A7C15), h ^= h >> 31;
    uint64_t tail = 0;
    memcpy(&tail, p, n);
    h = (h ^ tail) * UINT64_C(0xD6E8FEB86659FD93);
    return h ^ (h >> 32);
}

/* A number that the compiler must not turn into a branch: which of two entries it is cannot be foreseen. */
TK_INLINE size_t tk_unforeseen(size_t number) {
#if defined(__GNUC__)
    __asm__("" : "+r"(number));
#endif
    return number;
}

#endif
