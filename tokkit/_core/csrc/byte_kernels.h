/* The kernels that read text in blocks: a table of them for each instruction set, and the one in use. */
#ifndef TK_BYTE_KERNELS_H
#define TK_BYTE_KERNELS_H
#include "base.h"
#include "isa.h"

struct tk_added_filter;
struct tk_cache;
struct tk_cut_rule;
struct tk_cuts;
struct tk_keys;
struct tk_sp;
struct tk_sp_scratch;

/* A scanner: see tk_scan. One stands for each family. `cuts` may be NULL. */
typedef size_t (*tk_scanner)(const struct tk_cuts *cuts, const uint8_t *text, size_t n, size_t *pos, size_t *ends,
                             size_t limit);

/* NULL: plain code does all of it. */
typedef struct {
    /* text/utf8.h: units of each width as UTF-8 */
    size_t (*from_ucs1)(const uint8_t *units, size_t n, uint8_t *out);
    size_t (*from_ucs2)(const uint16_t *units, size_t n, uint8_t *out, int *surrogates);
    size_t (*from_ucs4)(const uint32_t *units, size_t n, uint8_t *out, int *surrogates);
    /* text/utf8.h: as tk_utf8_invalid_plain */
    size_t (*utf8_invalid)(const uint8_t *text, size_t n);
    /* split/scan.h: [TK_SCAN_FAMILIES] */
    const tk_scanner *scanners;
    /* split/cut_rule.h, or NULL: whole blocks from *at on while there is room for their ends; returns how many */
    size_t (*cut_blocks)(const struct tk_cut_rule *rule, const uint8_t *text, size_t n, size_t *at, size_t *ends,
                         size_t limit);
    /* split/added.h: the candidates of a block of 64 places, from the first that has any: *at is its start. A block is
       looked at while 66 bytes are left; 0 once fewer are, and *at is then the first place not looked at. */
    uint64_t (*added_skip)(const struct tk_added_filter *filter, const uint8_t *text, size_t *at, size_t n);
    /* sentencepiece/sp_engine.h: normalize the text from w->at on as far as there is room, and cut what is not yet
       cut */
    void (*sp_fill)(const struct tk_sp *m, struct tk_sp_scratch *w, const uint8_t *text, size_t n);
    void (*sp_cut)(const struct tk_sp *m, struct tk_sp_scratch *w);
    /* files/json_lines.h: as tk_json_plain */
    const uint8_t *(*json_plain)(const uint8_t *p, const uint8_t *end, uint8_t **out, uint64_t *beyond);
    /* encode/bpe_keys.h, or NULL: the keys of as many units as go by eights and do not reach the end of the text;
       returns how many */
    size_t (*bpe_keys)(const struct tk_cache *cache, const uint8_t *text, size_t n, size_t at, const size_t *ends,
                       size_t count, struct tk_keys *keys);
} tk_byte_kernels;

/* Those of an instruction set that the machine supports. */
const tk_byte_kernels *tk_byte_kernels_of(int isa);

/* Those in use, scalar at first. Each extension links its own, and sets it at import. */
extern const tk_byte_kernels *tk_kernels;
void tk_isa_use(int isa);

#endif
