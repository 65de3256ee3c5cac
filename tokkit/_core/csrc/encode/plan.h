/* How every tokenizer encodes. A plan has four parts: a front cuts a text into units, an exact cache has what earlier
   units became, a model encodes the units that are not in the cache, and an emission adds spans and words where a
   caller wants them. A variant of a part is a row of functions and the fields that these functions read.

   A plan is immutable, so threads share one; one thread at a time uses a worker. */
#ifndef TK_PLAN_H
#define TK_PLAN_H
#include "encode/bpe_keys.h"
#include "encode/bpe_merge.h"
#include "encode/bpe_model.h"
#include "encode/model.h"
#include "encode/stages.h"
#include "encode/word_cache.h"
#include "sentencepiece/sp_engine.h"
#include "split/added.h"
#include "split/cut_rule.h"
#include "split/dfa.h"

typedef struct tk_plan tk_plan;
typedef struct tk_front tk_front;
typedef struct tk_staged tk_staged;
typedef struct tk_offsets tk_offsets;

typedef struct {
    tk_cache cache;
    tk_merger merger;
    tk_dfa_memo memo;
    uint32_t *ids; /* the result: n_ids of them */
    size_t n_ids, ids_capacity;
    int is_continuation, has_next; /* the text is a chunk of one: more came before it, or follows */
    size_t grown;                  /* ids of the text in units that have more of them than bytes */
    uint8_t *text;                 /* where the caller converts text to UTF-8 */
    size_t text_capacity;
    tk_staged *staged;   /* scratch of components; allocated with the first unit that runs through them */
    tk_offsets *offsets; /* spans and words; allocated with the first text whose caller wants them */
    tk_sp_scratch *sp;   /* of SentencePiece models: the normalized text, and the scratch of the model */
} tk_worker;

/* ---- the front: a text → units */

/* Where a unit stands: what differs at the ends of a section. */
enum {
    TK_EDGE_TEXT_START = 1,    /* the section begins where the text does, */
    TK_EDGE_SECTION_START = 2, /* or after an added token */
    TK_EDGE_END = 4
};
enum { TK_EDGES = TK_EDGE_TEXT_START | TK_EDGE_SECTION_START | TK_EDGE_END };

/* A text between two added tokens: bytes up to `at` have been read, and none are read once that has passed `stop`. */
typedef struct {
    const uint8_t *text;
    size_t n, at, stop;
    unsigned edges;
} tk_section;

/* Units that follow one another in a text: the first begins at `start`, and unit k ends at ends[k], which has
   TK_DROPPED for what is no unit. Up to n bytes of the text may be read. */
typedef struct {
    const uint8_t *text;
    size_t n, start, count, ends[TK_CHUNK];
} tk_units;

struct tk_front {
    /* The next units of a section, none at the end of it or from `stop` on. TK_OK or a status. */
    int (*next)(const tk_front *front, tk_worker *w, tk_section *section, tk_units *units);
    /* Before the first call for a section; may be NULL. `max` bytes may be made of the section, 0: any number. */
    void (*begin)(const tk_front *front, tk_worker *w, const tk_section *section, size_t max);
    unsigned edges; /* where units are encoded otherwise than inside a section */
    union {
        tk_split split;          /* tk_front_split */
        const tk_cut_rule *rule; /* tk_front_rule; NULL: a section is one unit */
        const tk_sp *sp;         /* tk_front_sp */
    };
};

int tk_front_split(const tk_front *front, tk_worker *w, tk_section *section, tk_units *units);
int tk_front_rule(const tk_front *front, tk_worker *w, tk_section *section, tk_units *units);
int tk_front_sp(const tk_front *front, tk_worker *w, tk_section *section, tk_units *units);
void tk_front_sp_begin(const tk_front *front, tk_worker *w, const tk_section *section, size_t max);

/* ---- the model: a unit that is not in the cache → ids */

typedef struct {
    /* Append the ids of a unit that the first line of the cache does not have; `edge` is where it stands. There is room
       for an id a byte and four more. TK_OK or a status. */
    int (*encode_uncached)(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, size_t readable,
                           const tk_key *key, unsigned edge);
    /* Units from *k on without the cache, while w->sp->uncached asks for that; may be NULL. */
    int (*encode_run)(const tk_plan *plan, tk_worker *w, const tk_units *units, size_t *k);
    /* At the end of a section; spans may be NULL. Returns how many ids there are then. May be NULL. */
    size_t (*finish)(const tk_plan *plan, tk_worker *w, int64_t *spans);
    int scored;              /* entries of the cache end in what tk_sp_meta tells of the scores they hold for */
    tk_bpe *bpe;             /* byte-level: pretokens are units */
    const tk_model *tokens;  /* components: what runs on a unit, and then the model */
    const tk_stage *stages;
    size_t n_stages;
    const tk_sp *sp;
} tk_unit_model;

int tk_encode_uncached_bytes(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, size_t readable,
                             const tk_key *key, unsigned edge);
int tk_encode_uncached_staged(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, size_t readable,
                              const tk_key *key, unsigned edge);
int tk_encode_uncached_sp(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, size_t readable,
                          const tk_key *key, unsigned edge);
int tk_encode_run_sp(const tk_plan *plan, tk_worker *w, const tk_units *units, size_t *k);
size_t tk_finish_sp(const tk_plan *plan, tk_worker *w, int64_t *spans);

/* Run a unit through the components and the model, whose worker has its tokens then. */
int tk_run_stages(const tk_plan *plan, tk_worker *w, const uint8_t *p, size_t n, unsigned edge);

/* Append the ids of n bytes by a model that has encode_ids. */
int tk_model_ids(const tk_model *model, tk_worker *w, const uint8_t *p, size_t n);

/* ---- the emission: ids with spans and words */

/* A unit that the cache of offsets does not have, at `base` of the text: append its tokens by tk_offsets_append, and
   pack them. *kept is how many numbers may be cached, 0: none. TK_OK or a status. */
typedef struct {
    const uint8_t *p;
    size_t n, readable, base;
    unsigned edge;
    size_t kept;
} tk_offset_unit;

typedef struct {
    int (*encode_uncached)(const tk_plan *plan, tk_worker *w, tk_offset_unit *unit);
    /* At the end of a section, whose ids begin at `first` and whose text lies at `base`; may be NULL. */
    void (*finish)(const tk_plan *plan, tk_worker *w, size_t first, size_t base);
    int one_word;              /* a section is one word */
    const uint32_t *lengths;   /* byte-level: how many bytes each id has */
    const uint8_t *word_marks; /* SentencePiece: of each id, TK_BEGINS_WORD and the like */
} tk_emission;

/* A token begins a word; one begins after it; both. */
enum { TK_BEGINS_WORD = 1, TK_ENDS_WORD = 2 };

int tk_offsets_bytes(const tk_plan *plan, tk_worker *w, tk_offset_unit *unit);
int tk_offsets_staged(const tk_plan *plan, tk_worker *w, tk_offset_unit *unit);
int tk_offsets_sp(const tk_plan *plan, tk_worker *w, tk_offset_unit *unit);
void tk_offsets_finish_sp(const tk_plan *plan, tk_worker *w, size_t first, size_t base);

/* ---- the plan */

struct tk_plan {
    tk_front front, word_front; /* of ids; of offsets, whose units are whole words */
    const tk_stage *before;     /* what runs on a section before it is cut */
    size_t n_before;
    size_t grown; /* bytes, or ids beyond its own bytes, that stages may make of a text; 0: any number */
    /* the caches: log2 of how many lines a new one has, where no vocabulary says so; the longest unit, 0: as usual */
    size_t cache_lines, offset_lines, max_offset_words, max_cached;
    tk_unit_model model;
    tk_emission emission;
    const tk_cut_rule *part_rule; /* where a text may be cut into chunks that different threads encode */
};

/* Fill a plan that is zero but for `before` and `grown`. Pointers are kept. A cache of offsets inserts up to max_words
   units. tk_plan_cut tells where a staged plan may cut texts, in units and in words, each NULL for nowhere. */
void tk_plan_bytes(tk_plan *plan, tk_bpe *bpe, tk_split split, const uint32_t *lengths, size_t max_words);
void tk_plan_staged(tk_plan *plan, const tk_model *tokens, const tk_stage *stages, size_t n_stages, size_t max_words);
void tk_plan_cut(tk_plan *plan, const tk_cut_rule *rule, const tk_cut_rule *word_rule, unsigned edges);
void tk_plan_sp(tk_plan *plan, const tk_sp *sp, const uint8_t *word_marks, size_t max_words);

/* Which added tokens are looked for in the text as it is given, and in what `before` makes of it. Each may be NULL. */
typedef struct {
    const tk_added *given, *normalized;
    const int64_t *given_ids, *normalized_ids;
    const uint8_t *given_allowed, *normalized_allowed; /* a byte for each token, or NULL: all */
} tk_finder;

int tk_worker_init(tk_worker *worker, const tk_plan *plan, size_t max_words);
/* A worker whose cache has the words of another, which no thread changes meanwhile. */
int tk_worker_copy(tk_worker *worker, const tk_plan *plan, const tk_worker *other);
void tk_worker_free(tk_worker *worker);

/* Give back arrays of more than `max` bytes. */
void tk_worker_shrink(tk_worker *worker, size_t max);

/* Append the ids of text from *at on until *at is n or has passed `stop`, so that the caller can look up from a long
   text now and then. TK_OK, TK_NO_MEMORY, TK_TOO_LARGE, TK_UNENCODABLE or TK_UNSUPPORTED. */
int tk_encode(const tk_plan *plan, tk_worker *worker, const tk_finder *finder, const uint8_t *text, size_t n,
              size_t *at, size_t stop);

/* A whole text with, for each id, its span in bytes of the text and its word. TK_UNSUPPORTED, with nothing to be read,
   for a text that is normalized as a whole and not normalized yet, one of 2 GiB and more, and one in which a charsmap
   drops the start of a unit. */
int tk_encode_offsets(const tk_plan *plan, tk_worker *worker, const tk_finder *finder, const uint8_t *text, size_t n);
const int64_t *tk_offsets_spans(const tk_worker *worker);
const int32_t *tk_offsets_words(const tk_worker *worker);

/* By a SentencePiece model, a section with its spans in the normalized text, which w->sp has then. */
int tk_encode_normalized_sp(const tk_plan *plan, tk_worker *w, const uint8_t *text, size_t n);
void tk_offsets_free(tk_offsets *offsets);
void tk_offsets_shrink(tk_offsets *offsets, size_t max);

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

/* ---- for the parts */

/* How many bytes stages may make of n; 0: any number. */
TK_INLINE size_t tk_max_grown(const tk_plan *plan, size_t n) {
    return plan->grown && n > plan->grown / 32 ? 32 * n : plan->grown;
}

/* Room for n more ids. */
static inline int tk_reserve_ids(tk_worker *w, size_t n) {
    return tk_reserve(&w->ids, &w->ids_capacity, w->n_ids + n + TK_INLINE_IDS, sizeof *w->ids);
}

/* Append ids of the cache, for which there is room. */
static inline void tk_emit_known(tk_worker *w, const uint32_t *ids, size_t count) {
    uint32_t *out = w->ids + w->n_ids;
    TK_ASSERT(w->n_ids + count <= w->ids_capacity);
    for (size_t k = 0; k < count; k++) out[k] = ids[k] & TK_ID_MASK;
    w->n_ids += count;
}

/* Whether a unit of n bytes with so many numbers may be cached: callers keep room for as many as bytes, or for an entry
   written whole. No numbers are none that the cache keeps: it would not tell them from a unit that is not there. */
TK_INLINE int tk_may_cache(size_t count, size_t n) { return count && (count <= TK_INLINE_IDS || count <= n); }

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

/* Append a token with its span and its word, for which there is room; room for so many more. */
void tk_offsets_append(tk_worker *w, uint32_t id, size_t start, size_t end, int32_t word);
int tk_offsets_reserve(tk_worker *w, size_t more);

/* Where to pack the tokens of a unit, two numbers each and one more, NULL where memory is short; the second number. */
uint32_t *tk_offsets_pack(tk_worker *w, size_t n_tokens);
uint32_t tk_offsets_packed(size_t start, size_t end, size_t word);

#endif
