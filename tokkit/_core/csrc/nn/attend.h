/* Exact softmax attention in tiles, never a whole row of scores.

   A query sees the keys that the band, the block mask, the boolean mask and the padding all allow; one that sees
   nothing gives zeros. Scores are capped(scale * q·k) + add + by_distance[i - j], where capped(s) is s, or with a cap
   cap * tanh(s / cap). Several query heads may share a key head. */
#ifndef TK_ATTEND_H
#define TK_ATTEND_H
#include "base.h"

/* Steps between batch entries, heads and rows, in items; the last axis is contiguous. */
typedef struct {
    ptrdiff_t batch, head, row;
} tk_steps;

enum { TK_KEY_BLOCK = 64, TK_DECODE_BLOCK = 128, TK_DECODE_ROWS = 32, TK_PAIR = 32 }; /* two of the widest vectors */

/* What keys and values are: floats; bfloat16 (uint16_t); or int8_t, each row of a head times a scale of its own. */
enum { TK_KV_FLOAT32, TK_KV_BFLOAT16, TK_KV_INT8 };
TK_INLINE size_t tk_kv_size(int kv) { return kv == TK_KV_FLOAT32 ? 4 : kv == TK_KV_BFLOAT16 ? 2 : 1; }

/* Blocks of TK_KEY_BLOCK queries by as many keys: of row r of blocks the entries starts[r] … starts[r + 1], each the
   number of a block of keys and that of its mask, -1 where every query sees every key. What has no entry is not seen,
   and not computed. */
typedef struct {
    const int64_t *starts; /* (heads, rows of blocks + 1), heads starts_by apart */
    ptrdiff_t starts_by;
    const int32_t *blocks, *masks;
    const uint8_t *table;  /* (masks, key, query), 1 = attend */
    const uint8_t *ranges; /* (masks, TK_LIST_PARTS, 2): the keys that any of TK_LIST_PART queries sees lie between */
} tk_block_lists;

enum { TK_LIST_PART = 16, TK_LIST_PARTS = TK_KEY_BLOCK / TK_LIST_PART };
_Static_assert(TK_LIST_PARTS * TK_LIST_PART == TK_KEY_BLOCK && TK_DECODE_BLOCK % TK_PAIR == 0, "whole parts");

typedef struct {
    const float *q;
    const void *k, *v;
    float *out;
    int kv;                           /* which of TK_KV_…: those other than floats with one sequence, not packed */
    const float *k_scales, *v_scales; /* (key heads, …) for int8, heads scales_by apart; else NULL */
    ptrdiff_t scales_by;
    tk_steps q_by, k_by, v_by, out_by;
    size_t batch, heads, group; /* query heads, and how many of them share a key head */
    size_t n_queries, n_keys, d, dv;
    float scale, cap; /* cap 0: none */
    int narrow; /* 1: q, k, v and weights may be rounded to bf16 where that is faster; -1: where the CPU can */
    ptrdiff_t offset, left, right; /* query i sees keys i + offset - left … i + offset + right */
    const uint8_t *allow;          /* (batch, heads, queries, keys), 1 = attend; or NULL */
    const float *add;              /* the same shape; or NULL */
    tk_steps allow_by, add_by;
    const uint8_t *ignored; /* (batch, keys), 1 = never seen; or NULL */
    ptrdiff_t ignored_by;
    const float *by_distance; /* (heads, …): what is added at i - j = 0 stands at [zero]; or NULL */
    ptrdiff_t distance_by, zero;
    const uint8_t *blocks; /* (batch, heads, queries / block, keys / block), 1 = attend; or NULL */
    tk_steps blocks_by;
    size_t block; /* a multiple of TK_KEY_BLOCK */
    const tk_block_lists *lists; /* or NULL */
    const int64_t *q_starts, *k_starts; /* packed sequences: batch + 1 row numbers each; or NULL */
} tk_attention;

/* Limits of the band that limit nothing; far from overflow in sums of three. */
#define TK_FAR (PTRDIFF_MAX / 8)

/* What one head of one sequence works on. */
typedef struct {
    const float *q, *add, *by_distance, *k_scales, *v_scales;
    const void *k, *v;
    float *out;
    const uint8_t *allow, *ignored, *blocks;
    const int64_t *list; /* the starts of a head's lists, or NULL */
    size_t n_queries, n_keys; /* keys after the last that is not ignored are left out */
} tk_head;

void tk_attention_head(const tk_attention *a, size_t sequence, size_t head, tk_head *view);

/* Queries from … to of all heads that share a key head. TK_DECODE_ROWS or fewer, those of a whole group, are for the
   kernels that decode: there lanes are the dimensions of a head, elsewhere queries. */
typedef void tk_attend(const tk_attention *a, size_t sequence, size_t kv_head, size_t from, size_t to, float *room);

/* Those of many queries by products of bf16: bands, but neither lists nor masks of blocks. */
void tk_attend_bf16(const tk_attention *a, size_t sequence, size_t kv_head, size_t from, size_t to, float *room);

int tk_attention_run(const tk_attention *a, int isa, int threads);
#endif
