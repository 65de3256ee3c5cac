/* The pieces of a model as they occur in the buffer, for the files that build an engine: see sp_engine.h. */
#ifndef TK_SP_BUILD_H
#define TK_SP_BUILD_H
#include "sentencepiece/sp_engine.h"

typedef struct {
    uint8_t *blob;
    int64_t *offsets;
    uint8_t *excluded; /* which no text spells, or which take no part */
    size_t n, capacity, n_blob, blob_capacity;
} tk_sp_forms;

int tk_sp_add_form(tk_sp_forms *f, const uint8_t *p, size_t n, int excluded);
int tk_sp_build_trie(tk_token_trie *trie, const tk_sp_forms *f, const uint8_t *excluded);

/* The tables of BPE, the trie included. */
int tk_sp_build_bpe(tk_sp *m, const tk_sp_source *s, tk_sp_forms *f);

#endif
