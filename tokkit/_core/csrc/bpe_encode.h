/* Valid UTF-8 in, ids out: split, look up, merge what is not known yet. One worker serves one thread at a time. */
#ifndef TK_BPE_ENCODE_H
#define TK_BPE_ENCODE_H
#include "bpe_merge.h"
#include "bpe_model.h"
#include "dfa.h"
#include "word_cache.h"

typedef struct {
    tk_cache cache;
    tk_merger merger;
    tk_dfa_memo memo;
    size_t long_bytes; /* of long pieces that were merged so far */
    uint32_t *ids; /* the result: n_ids of them */
    size_t n_ids, ids_capacity;
    uint8_t *text; /* where the caller converts text to UTF-8 */
    size_t text_capacity;
} tk_worker;

int tk_worker_init(tk_worker *worker, const tk_bpe *model, size_t max_words);
void tk_worker_free(tk_worker *worker);

/* Append the ids of text from *at on, cut as `split` says, until *at is n or has passed `stop`, so
   that the caller can look up from a long text now and then. TK_OK, TK_NO_MEMORY or TK_TOO_LARGE. */
int tk_encode(tk_bpe *model, tk_worker *worker, const tk_split *split, const uint8_t *text, size_t n, size_t *at,
              size_t stop);

/* The same for text that is cut already: piece k ends at ends[k], the first starts at 0. */
int tk_encode_pieces(tk_bpe *model, tk_worker *worker, const uint8_t *text, const int64_t *ends, size_t count);

/* The same without looking anything up, for any bytes: what is no UTF-8 must not come near the cuts and the cache. */
int tk_merge_pieces(tk_bpe *model, tk_worker *worker, const uint8_t *bytes, const int64_t *ends, size_t count);

/* How far benchmarks encode: each stage has those before it in it. */
enum { TK_STAGE_SCAN, TK_STAGE_KEYS, TK_STAGE_PROBE, TK_STAGE_EMIT, TK_STAGE_ALL };

/* A whole text up to a stage. Up to TK_STAGE_EMIT, *pieces grows by the pieces there are (those dropped counted), and
   what the first line of the cache does not have is left out; n_ids grows from TK_STAGE_PROBE on, but only
   TK_STAGE_EMIT and TK_STAGE_ALL, which is tk_encode, write ids. */
int tk_encode_stage(tk_bpe *model, tk_worker *worker, const tk_split *split, const uint8_t *text, size_t n, int stage,
                    size_t *pieces);

int tk_append_id(tk_worker *worker, uint32_t id);

#endif
