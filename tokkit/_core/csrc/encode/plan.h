/* How every tokenizer encodes: a plan cuts a text into units, an exact cache has the ids of earlier units, and the
   function `miss` of the plan computes the ids of the others.

   A plan is immutable, so threads share one; one thread at a time uses a worker. */
#ifndef TK_PLAN_H
#define TK_PLAN_H
#include "split/added.h"
#include "encode/bpe_merge.h"
#include "encode/bpe_model.h"
#include "split/dfa.h"
#include "encode/stages.h"
#include "encode/model.h"
#include "sentencepiece/sp_engine.h"
#include "split/cut_rule.h"
#include "encode/word_cache.h"

typedef struct tk_plan tk_plan;
typedef struct tk_staged tk_staged;
typedef struct tk_placed tk_placed;

/* A status: this text wants another way, which its plan has not. */
enum { TK_ELSEWHERE = -5 };

typedef struct {
    tk_cache cache;
    tk_merger merger;
    tk_dfa_memo memo;
    uint32_t *ids; /* the result: n_ids of them */
    size_t n_ids, ids_capacity;
    int continues, goes_on; /* the text is a part of one: more came before it, or follows */
    size_t grown;           /* ids of the text in units that have more of them than bytes */
    uint8_t *text;          /* where the caller converts text to UTF-8 */
    size_t text_capacity;
    tk_staged *staged; /* what components need; made with the first unit that runs through them */
    tk_placed *placed; /* what spans and words need; made with the first text that wants them */
    tk_sp_scratch *sp; /* what a sentencepiece model needs, its cache too: that of the plan is empty then */
} tk_worker;

/* What differs at the ends of a section, the text between two added tokens. */
enum {
    TK_EDGE_TEXT_START = 1,    /* the section begins where the text does, */
    TK_EDGE_SECTION_START = 2, /* or after an added token */
    TK_EDGE_END = 4
};

struct tk_plan {
    /* Append the ids of a unit that the first line of the cache does not have; `edge` is where it stands. There is room
       for an id a byte and four more. TK_OK or a status. */
    int (*miss)(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, size_t readable, const tk_key *key,
                unsigned edge);
    tk_split split;          /* how text is cut into units, where `rule` is NULL */
    const tk_cut_rule *rule;
    unsigned edges;          /* of those above, where units are encoded otherwise */
    tk_bpe *bpe;             /* byte-level: its pretokens are units */
    const tk_model *model;   /* components: what runs on a unit, and then the model */
    const tk_stage *stages;
    size_t n_stages;
    const tk_stage *before;  /* what runs on a section before it is cut */
    size_t n_before;
    size_t grown;            /* bytes, or ids beyond its own bytes, that stages may make of a text; 0: any */
    const tk_sp *sp;         /* a sentencepiece model, which cuts, normalizes and remembers text itself */
    size_t cache_lines;      /* log2 of how many a new cache has, where no vocabulary says so */
    /* spans and words: where units end that are whole words; whether a section is one word; and of bytes, how many
       each id has; and what the cache of those may hold, and begins with */
    const tk_cut_rule *word_rule;
    int one_word;
    const uint32_t *lengths;
    size_t placed_words, placed_lines;
    const uint8_t *word_marks; /* of sentencepiece: of each id, TK_BEGINS_WORD and the like */
};

/* A token begins a word; one begins after it; both. */
enum { TK_BEGINS_WORD = 1, TK_ENDS_WORD = 2 };

/* Which added tokens are looked for in the text as it is given, and in what `before` makes of it. Each may be NULL. */
typedef struct {
    const tk_added *given, *normalized;
    const int64_t *given_ids, *normalized_ids;
    const uint8_t *given_allowed, *normalized_allowed; /* a byte for each token, or NULL: all */
} tk_finder;

int tk_worker_init(tk_worker *worker, const tk_plan *plan, size_t max_words);
void tk_worker_free(tk_worker *worker);

/* Give back arrays of more than `most` bytes. */
void tk_worker_shrink(tk_worker *worker, size_t most);

/* Append the ids of text from *at on until *at is n or has passed `stop`, so that the caller can look up from a long
   text now and then. TK_OK, TK_NO_MEMORY, TK_TOO_LARGE, TK_UNKNOWN or TK_ELSEWHERE. */
int tk_encode(const tk_plan *plan, tk_worker *worker, const tk_finder *finder, const uint8_t *text, size_t n,
              size_t *at, size_t stop);

/* A whole text with, for each id, its span in bytes of the text and its word. TK_ELSEWHERE, with nothing to be read,
   for a text that is normalized as a whole and not normalized yet, one of 2 GiB and more, and one in which a charsmap
   drops the start of a unit. */
int tk_encode_placed(const tk_plan *plan, tk_worker *worker, const tk_finder *finder, const uint8_t *text, size_t n);
const int64_t *tk_placed_spans(const tk_worker *worker);
const int32_t *tk_placed_words(const tk_worker *worker);
void tk_placed_free(tk_placed *placed);
void tk_placed_shrink(tk_placed *placed, size_t most);

/* Byte-level: the same for text that is cut already: pretoken k ends at ends[k], the first starts at 0. */
int tk_encode_pieces(const tk_plan *plan, tk_worker *worker, const uint8_t *text, const int64_t *ends, size_t count);

/* The same without looking anything up, for any bytes: what is no UTF-8 must not come near the cuts and the cache. */
int tk_merge_pieces(const tk_plan *plan, tk_worker *worker, const uint8_t *bytes, const int64_t *ends, size_t count);

/* How far benchmarks encode: each stage has those before it in it. */
enum { TK_STAGE_SCAN, TK_STAGE_KEYS, TK_STAGE_PROBE, TK_STAGE_EMIT, TK_STAGE_ALL };

/* A whole text up to a stage. Up to TK_STAGE_EMIT, *pieces grows by the pretokens there are (those dropped counted),
   and what the first line of the cache does not have is left out; n_ids grows from TK_STAGE_PROBE on, but only
   TK_STAGE_EMIT and TK_STAGE_ALL, which is tk_encode, write ids. */
int tk_encode_stage(const tk_plan *plan, tk_worker *worker, const uint8_t *text, size_t n, int stage, size_t *pieces);

/* ---- for what encodes misses */

int tk_miss_bytes(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, size_t readable, const tk_key *key,
                  unsigned edge);
int tk_miss_staged(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, size_t readable, const tk_key *key,
                   unsigned edge);

/* A section of text by a sentencepiece model: as tk_encode does, from its first byte on; or its ids and spans,
   which w->sp has then. */
int tk_sp_worker_init(tk_worker *w, size_t cache_units);
void tk_sp_worker_free(tk_worker *w);
int tk_sp_section(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n, size_t *at, size_t stop,
                  unsigned edges);
int tk_sp_section_placed(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n);

/* How many bytes stages may make of n; 0: any. */
TK_INLINE size_t tk_most_grown(const tk_plan *plan, size_t n) {
    return plan->grown && n > plan->grown / 32 ? 32 * n : plan->grown;
}

/* Run a unit through the components and the model, whose worker has its tokens then. */
int tk_run_stages(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, unsigned edge);

/* The edges of a section where units are encoded otherwise: where no rule cuts a text it is one unit that is whole. */
static inline unsigned tk_edges_that_differ(const tk_plan *plan, const tk_cut_rule *rule) {
    return rule || plan->bpe ? plan->edges : TK_EDGE_TEXT_START | TK_EDGE_SECTION_START | TK_EDGE_END;
}

/* Room for n more ids. */
static inline int tk_reserve_ids(tk_worker *w, size_t n) {
    return tk_reserve(&w->ids, &w->ids_capacity, w->n_ids + n + TK_INLINE_IDS, sizeof *w->ids);
}

/* Append ids of the cache, for which there is room. */
static inline void tk_emit_known(tk_worker *w, const uint32_t *ids, size_t count) {
    uint32_t *out = w->ids + w->n_ids;
    for (size_t k = 0; k < count; k++) out[k] = ids[k] & TK_ID_MASK;
    w->n_ids += count;
}

/* What running components takes: texts on their way, the model's worker, and where the search for added tokens is. */
struct tk_staged {
    tk_aligned unit, unit_spare, section, section_spare;
    tk_model_worker model;
    tk_added_cursor given, normalized;
    tk_added_match match; /* the next token of the text, */
    int found;            /* if it is known: 1, or -1 where there is none after */
    size_t section_start;
};
tk_staged *tk_staged_of(tk_worker *w); /* NULL where memory is short */

#endif
