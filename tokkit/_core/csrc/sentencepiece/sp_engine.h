/* Encodes texts by a sentencepiece model: its normalizer, and Unigram's Viterbi or BPE's merges, in one pass;
   or, for models of words and of characters, over a whole text.

   A span of text is normalized into a buffer, in which U+2581 is the one byte 0x20 (escaped text has no space), and
   cut where no piece can stand across. Such a unit is encoded alone and looked up in a cache, with the ids, the score
   and how great the score before it may be: sentencepiece adds scores up in float32, so after enough text the
   rounding can decide between two ways through a unit. Where it could, the unit is encoded from the true score on.

   The rules are those of sentencepiece 0.2.3: candidates compared as float32 in order of their starts, a later one must
   be greater; a score below -100,000 is taken off all that are pending; user-defined pieces score 0.1 for each byte
   but the first. tests/reference/sentencepiece_viterbi.py says them in a page. */
#ifndef TK_SP_ENGINE_H
#define TK_SP_ENGINE_H
#include "text/charsmap.h"
#include "encode/char_merge.h"
#include "encode/token_trie.h"
#include "split/neighbors.h"

enum { TK_SP_NORMAL = 1, TK_SP_UNKNOWN, TK_SP_CONTROL, TK_SP_USER, TK_SP_UNUSED, TK_SP_BYTE }; /* kinds of pieces, */
enum { TK_SP_UNIGRAM = 1, TK_SP_BPE, TK_SP_WORD, TK_SP_CHAR };                                   /* and of models */

/* A model as it is stored. Piece i is blob[offsets[i]] up to blob[offsets[i + 1]]. */
typedef struct {
    const uint8_t *blob;
    const int64_t *offsets;
    const float *scores;
    const uint8_t *kinds, *charsmap;
    size_t n_ids, n_charsmap;
    uint32_t unknown;
    int model, byte_fallback, dummy_prefix, remove_extra, escape, suffix;
} tk_sp_source;

/* Of a character, what in the charsmap or among the user-defined pieces begins with it: itself alone, or more. And
   whether it is the second of such. */
enum { TK_SP_ALONE = 1, TK_SP_BEGINS = 2, TK_SP_SECOND = 4 };
enum { TK_SP_PAGE = 0x10000 };

/* What the normalizer makes of an ASCII character before another: itself, one space, or something to look for. */
enum { TK_SP_LOOK, TK_SP_KEEP, TK_SP_WHITE };

/* A set of ASCII: character c is bit c >> 4 of byte c & 15. */
typedef struct {
    uint8_t low[16];
} tk_sp_set;

enum { TK_SP_ASCII = 128 };

/* Of ASCII: whether no user-defined piece begins with a character; its id; what two become, and its rank. */
typedef struct {
    uint8_t alone[TK_SP_ASCII];
    uint32_t ids[TK_SP_ASCII], ranks[TK_SP_ASCII][TK_SP_ASCII], results[TK_SP_ASCII][TK_SP_ASCII];
} tk_sp_ascii;

typedef struct tk_sp {
    int model, bpe, byte_fallback, dummy_prefix, remove_extra, escape, suffix;
    uint32_t unknown, bytes[256];
    size_t n_ids;
    tk_token_trie trie; /* pieces as they stand in the buffer; of BPE, other characters of theirs too, from n_ids on */
    float *scores;      /* [n_ids] what a token adds: of a byte piece that begins a character, the unknown's score */
    float unknown_score;
    /* normalizer */
    tk_token_trie users; /* user-defined pieces as they are stored */
    tk_charsmap map;
    int has_map, verbatim; /* nothing is put for anything but spaces and U+2581 */
    int composes;          /* an ASCII character may be the first of more */
    uint8_t *firsts;       /* [TK_SP_PAGE] */
    uint8_t ascii[128];
    tk_sp_set keep, white;
    /* cuts */
    uint8_t *neighbors; /* in pieces */
    int plain;        /* a boundary between another character and a space is no such pair */
    int whole;        /* units are not exact: the text is one */
    tk_sp_set apart;  /* in no piece of more than one character */
    tk_token_trie frozen; /* not of Unigram: user-defined pieces as they stand in the buffer, which stay as they are */
    /* BPE */
    tk_char_pairs pairs;  /* all, and those that merging comes by if none is left out */
    tk_char_pairs last_pairs;
    size_t n_symbols;     /* ids, and those of characters that are no pieces */
    uint64_t steps;       /* bytes that were looked at to list the pairs */
    uint8_t *unused;      /* [n_symbols], or NULL; if not, `lengths` has how many bytes of the buffer each is */
    uint32_t *lengths;
    tk_sp_ascii *plain_ascii;
} tk_sp;

/* The longest unit that is encoded by itself and cached. */
enum { TK_SP_MAX_UNIT = 31 };

typedef struct {
    float score;
    uint32_t start, id;
} tk_sp_node;

typedef struct {
    uint32_t id, start, end; /* bytes of the buffer */
} tk_sp_token;

typedef struct tk_sp_scratch {
    /* the document */
    size_t at;        /* of its text */
    size_t made, max; /* bytes that the normalizer has put, and may put, as TK_GROWN tells; 0: any number */
    int started, any, previous; /* more than spaces is there; the last that was put is one, and more are dropped */
    int is_continuation;        /* its text is the rest of one, and begins after what is no space */
    int finished;               /* all of it is in the buffer, or was */
    int aligned;                /* `from` is wanted, and the buffer keeps the whole document */
    /* the buffer: `scanned` bytes of n are cut; starts[n_starts - 1] begins the unit that is open, starts[next] the one
       to hand out */
    uint8_t *text;
    uint32_t *from; /* where each byte comes from, if aligned; from[n] is where the next would */
    size_t capacity, from_capacity, n, scanned;
    uint32_t *starts;
    size_t n_starts, starts_capacity, next;
    /* the ids of the document begin at `first`. Unigram: the score after those up to `settled`, and a bound of its
       amount after all, of 1/8 each */
    size_t first, settled;
    float score;
    uint32_t amount, meta; /* `meta`: of the unit that was put last, 0 if it was encoded from the true score */
    /* the cache is left alone for so many units; its misses up to the last `looked` units */
    size_t uncached, looked;
    uint64_t misses;
    /* scratch of the model */
    tk_sp_node *nodes;
    size_t nodes_capacity;
    tk_sp_token *tokens;
    size_t n_tokens, tokens_capacity;
    void *symbols;
    size_t symbols_capacity;
    tk_merge_scratch merge;
    uint32_t *parts; /* of a merge that gave an unused piece */
    size_t parts_capacity;
} tk_sp_scratch;

/* TK_OK, TK_NO_MEMORY, TK_TOO_LARGE, or TK_BAD_INPUT with its reason. `m` is freed by tk_sp_free either way. */
int tk_sp_build(tk_sp *m, const tk_sp_source *source, const char **reason);
void tk_sp_free(tk_sp *m);

void tk_sp_scratch_free(tk_sp_scratch *w);
void tk_sp_scratch_shrink(tk_sp_scratch *w, size_t max);

/* Room for so many bytes in the buffer, what is there kept. */
int tk_sp_reserve_text(tk_sp_scratch *w, size_t need);
enum { TK_SP_BUFFER = 1 << 14 };

/* Begin a document after `first` ids; if `aligned`, its normalized text is kept, with `from`. */
void tk_sp_begin(tk_sp_scratch *w, size_t first, int is_continuation, size_t max);

/* Normalize more of a document into the buffer, and cut it into units, once those that are there have been handed out.
   TK_OK, TK_NO_MEMORY, TK_TOO_LARGE or TK_GROWN. */
int tk_sp_refill(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n);

/* Normalize a whole document into the buffer, and cut it. */
int tk_sp_prepare(const tk_sp *m, tk_sp_scratch *w, const uint8_t *text, size_t n, size_t max);

/* What the normalizer puts for the beginning of text[at:n], and of how many bytes that is. */
size_t tk_sp_replaced(const tk_sp *m, const uint8_t *text, size_t n, size_t at, const uint8_t **put, size_t *n_put);

/* Put that into the buffer: spaces after a space dropped where the model says so. There is room. */
void tk_sp_put(const tk_sp *m, tk_sp_scratch *w, const uint8_t *put, size_t n_put);

/* The bytes of buffers are characters; what is none counts as one byte. */
TK_INLINE unsigned tk_sp_length(uint8_t lead, size_t left) {
    unsigned length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    return length < left ? length : (unsigned)left;
}

/* The tokens of p[0:n] from a score on, which moves after them; sp_viterbi.c. */
int tk_sp_best(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, size_t n, float *score);

/* A unit by itself: its tokens, and what its entry in a cache says. */
typedef struct {
    uint32_t ids[TK_SP_MAX_UNIT + 1], count, meta;
} tk_sp_unit;
void tk_sp_best_unit(const tk_sp *m, const uint8_t *p, size_t n, tk_sp_unit *unit);

/* What the ids of a unit of Unigram hold for, in 32 bits: the least |score| before it that is too great (16 bits, of 2
   each), and what it adds to |score| at most (16 bits, of 1/8 each). An amount of |score| is of 1/8 each. */
enum { TK_SP_MAX_SUM = (1 << 14) - 1, TK_SP_MAX_LIMIT = UINT16_MAX, TK_SP_REBASE = 100000 };
TK_INLINE uint32_t tk_sp_meta(uint32_t limit, uint32_t sum) { return limit << 16 | sum; }
TK_INLINE uint32_t tk_sp_meta_sum(uint32_t meta) { return meta & 0xFFFF; }
TK_INLINE uint32_t tk_sp_meta_limit(uint32_t meta) { return meta >> 16; }
TK_INLINE int tk_sp_meta_holds(uint32_t meta, uint32_t amount) { return amount >> 4 < tk_sp_meta_limit(meta); }

/* That of two units as one. (amount + sum) >> 4 is at most (amount >> 4) + (sum >> 4) + 1. */
TK_INLINE uint32_t tk_sp_meta_joined(uint32_t first, uint32_t second) {
    uint32_t sum = tk_sp_meta_sum(first) + tk_sp_meta_sum(second), limit = tk_sp_meta_limit(second);
    uint32_t less = (tk_sp_meta_sum(first) >> 4) + 1;
    limit = limit > less ? limit - less : 0;
    if (sum > TK_SP_MAX_SUM) return tk_sp_meta(0, TK_SP_MAX_SUM);
    return tk_sp_meta(limit < tk_sp_meta_limit(first) ? limit : tk_sp_meta_limit(first), sum);
}

/* The tokens of p[0:n] by merging; each merge is left out with a chance of `dropout`, by *random; sp_merge.c. */
int tk_sp_merge(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, size_t n, double dropout, uint64_t *random);

/* The tokens of p[0:n] by a model of words or of characters; sp_words.c. */
int tk_sp_look_up(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, size_t n);

/* Bytes of the longest user-defined piece that p[0:n] begins with, and its id; 0 for none. */
TK_INLINE size_t tk_sp_frozen(const tk_sp *m, const uint8_t *p, size_t n, uint32_t *id) {
    uint64_t node = m->frozen.root;
    size_t length = 0;
    for (size_t i = 0; i < n && node;) {
        node = tk_trie_step(&m->frozen, node, p[i++]);
        if (node && tk_trie_id(node) != TK_NO_ID) length = i, *id = tk_trie_id(node);
    }
    return length;
}

/* Fill m->plain_ascii: the last step of building. */
int tk_sp_set_ascii(tk_sp *m);

/* The ids of the two symbols that the last merge of p[0:n] joins, TK_NO_ID where it does not become one; 0 if that
   would take long to say. */
int tk_sp_last_merge(const tk_sp *m, const uint8_t *p, size_t n, uint32_t *left, uint32_t *right);

static inline int tk_sp_add(tk_sp_scratch *w, uint32_t id, size_t start, size_t end) {
    int status = tk_reserve(&w->tokens, &w->tokens_capacity, w->n_tokens + 1, sizeof *w->tokens);
    if (status == TK_OK) w->tokens[w->n_tokens++] = (tk_sp_token){id, (uint32_t)start, (uint32_t)end};
    return status;
}

/* What has no piece, p[start:end]: the unknown token, or one a byte, of which all but the last are nothing at its
   start. */
static inline int tk_sp_add_unknown(const tk_sp *m, tk_sp_scratch *w, const uint8_t *p, size_t start, size_t end) {
    static const uint8_t symbol[] = {0xE2, 0x96, 0x81};
    if (!m->byte_fallback) return tk_sp_add(w, m->unknown, start, end);
    int status = TK_OK;
    for (size_t at = start; at < end; at++) {
        int space = m->escape && p[at] == ' ';
        const uint8_t *bytes = space ? symbol : p + at;
        for (size_t i = 0; i < (space ? sizeof symbol : 1) && status == TK_OK; i++)
            status = tk_sp_add(w, m->bytes[bytes[i]], start, start);
    }
    if (status == TK_OK) w->tokens[w->n_tokens - 1].end = (uint32_t)end;
    return status;
}

TK_INLINE int tk_sp_in(const tk_sp_set *set, uint8_t c) { return c < 0x80 && set->low[c & 15] >> (c >> 4) & 1; }

/* The charsmap's trie: where the children of its root stand; and the place of those of the child by a byte, SIZE_MAX
   for none. *leaf says whether a string stands for what led there; its place is then in units[that place]. */
TK_INLINE size_t tk_sp_map_offset(uint32_t unit) { return (size_t)(unit >> 10) << (unit & 1 << 9 ? 8 : 0); }
TK_INLINE size_t tk_charsmap_root(const tk_charsmap *map) { return tk_sp_map_offset(map->units[0]); }
TK_INLINE size_t tk_charsmap_child(const tk_charsmap *map, size_t at, uint8_t byte, int *leaf) {
    at ^= byte;
    if (!byte || at >= map->n_units || (map->units[at] & UINT32_C(0x800000FF)) != byte) return SIZE_MAX;
    *leaf = (map->units[at] & 1 << 8) != 0;
    return at ^ tk_sp_map_offset(map->units[at]);
}

/* One step puts less than this into the buffer, unless the charsmap says otherwise; and what may be read and written
   after the end of it. */
enum { TK_SP_SPARE = 512, TK_SP_READABLE = 128 };

#endif
