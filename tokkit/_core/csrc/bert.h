/* Valid UTF-8 in, WordPiece ids out: BERT's normalizer, its pretokenizer and the model in one pass.

   A stretch of text is normalized and cut at once: ASCII 64 bytes at a time, other characters by a table of what the
   normalizer makes of each. Its words are then looked up in a cache, and the model encodes those that are not there.
   What a table cannot say (a mark whose order others decide, a word without ids) is TK_BERT_ODD: the components take
   such a text one by one. */
#ifndef TK_BERT_H
#define TK_BERT_H
#include "model.h"

enum { TK_BERT_ODD = 1 };

/* What becomes of a character; an entry of the table has this in its low bits. */
enum {
    TK_BERT_KEEP,  /* a character of a word, as it is */
    TK_BERT_WORD,  /* others of a word in its place: how many bytes (five bits), where in the pool */
    TK_BERT_ONE,   /* a piece of its own: its id */
    TK_BERT_WHITE, /* the end of a word */
    TK_BERT_DROP,
    TK_BERT_STRANGE,
    TK_BERT_KIND_BITS = 3,
    TK_BERT_LENGTH_BITS = 5
};

enum { TK_BERT_TABLE = 0x20000 }; /* code points from here on are rare: each is worked out when it comes */

typedef struct {
    const tk_model *model;
    uint8_t clean, chinese, strip, lower;
    uint32_t *table; /* [TK_BERT_TABLE] */
    uint8_t *pool;
    size_t n_pool, pool_capacity;
} tk_bert;

enum { TK_BERT_IDS = 3 };

/* A word of up to 15 bytes (word_cache.h has its key) and up to three tokens. */
typedef struct {
    uint64_t low, high;
    uint32_t ids[TK_BERT_IDS];
    uint8_t count, ends[TK_BERT_IDS]; /* where each token ends in the word */
} tk_bert_entry;

typedef struct {
    tk_bert_entry *entries; /* two in a line: a word stands in its own or in the one beside it */
    size_t mask, n;         /* of lines; words there */
    unsigned shift;         /* of a key's hash to a line's number: the upper bits tell words apart */
    unsigned turn;
    uint64_t misses;
} tk_bert_cache;

typedef struct {
    tk_bert_cache cache;
    tk_model_worker model; /* its cache is for words of up to 31 bytes and 16 tokens; where tokens go */
    int aligned;           /* tokens have spans and words too */
    uint8_t *text;         /* what is normalized so far, and for each byte the bytes of the original, if aligned */
    uint32_t *from, *to;
    size_t room, n;
    uint32_t *starts, *ends, *places; /* of its pieces: ends[k] is 0 where starts[k] is an id, of the byte places[k] */
    size_t n_starts, n_ends;
    int open;              /* the last piece has no end yet */
    size_t word;           /* the number of the next piece */
    uint8_t *utf8;         /* where the caller converts text to UTF-8 */
    size_t utf8_capacity;
} tk_bert_worker;

/* `model` is a WordPiece model, which the caller keeps. TK_OK or TK_NO_MEMORY. */
int tk_bert_build(tk_bert *m, const tk_model *model, int clean, int chinese, int strip, int lower);
void tk_bert_free(tk_bert *m);

/* The entry of a code point; in place of a pool, bytes of TK_BERT_WORD go to `out`. */
uint32_t tk_bert_entry_of(const tk_bert *m, tk_model_worker *scratch, uint32_t c, uint8_t *out);

int tk_bert_worker_init(tk_bert_worker *w, size_t cache_words, size_t cache_long_words);
void tk_bert_worker_free(tk_bert_worker *w);

/* Give back what is above `most` bytes, but for the cache; no tokens are there then. */
void tk_bert_worker_shrink(tk_bert_worker *w, size_t most);

/* Begin a text; `aligned` says whether spans and words are wanted too. */
void tk_bert_begin(tk_bert_worker *w, int aligned);

/* Append the tokens of text[*at:n], till *at is n or has passed `stop`; at n the last word ends. The text before is
   read no more. TK_OK, TK_NO_MEMORY or TK_BERT_ODD. */
int tk_bert_encode(const tk_bert *m, tk_bert_worker *w, const uint8_t *text, size_t n, size_t *at, size_t stop);

/* A piece that is one token already. */
int tk_bert_append(tk_bert_worker *w, uint32_t id, size_t start, size_t end);

/* Normalize and cut text[at:n] as far as there is room; returns how far that is. TK_BERT_ODD goes to *status. */
typedef size_t (*tk_bert_split)(const tk_bert *m, tk_bert_worker *w, const uint8_t *text, size_t n, size_t at,
                                int *status);
size_t tk_bert_split_scalar(const tk_bert *m, tk_bert_worker *w, const uint8_t *text, size_t n, size_t at, int *status);
size_t tk_bert_split_avx2(const tk_bert *m, tk_bert_worker *w, const uint8_t *text, size_t n, size_t at, int *status);
size_t tk_bert_split_avx512(const tk_bert *m, tk_bert_worker *w, const uint8_t *text, size_t n, size_t at, int *status);

/* Of 64 bytes: characters of words, marks of ASCII, and what a table decides; the rest is white space. */
typedef struct {
    uint64_t word, mark, other;
} tk_bert_masks;

/* Of a stretch: the pieces there is room for, and how much may be written behind what is there. */
enum { TK_BERT_PIECES = 2048, TK_BERT_SLACK = 512 };

#endif
