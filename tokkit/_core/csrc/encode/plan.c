/* The plans that there are: byte-level BPE, components with a model, SentencePiece. See plan.h. */
#include "encode/plan.h"

enum {
    BYTES_OFFSET_LINES = 15, /* log2 of the lines of a new cache of spans and words: 2 MiB */
    SP_LINES = 14            /* of both caches: 1 MiB */
};

void tk_plan_bytes(tk_plan *p, tk_bpe *bpe, tk_split split, const uint32_t *lengths, size_t max_words) {
    p->word_front = p->front = (tk_front){.next = tk_front_split, .split = split}; /* parts of pretokens are no words */
    if (bpe->cuts.unconditional) p->front.split.cuts = &bpe->cuts;
    p->model = (tk_unit_model){.encode_uncached = tk_encode_uncached_bytes, .bpe = bpe};
    p->emission = (tk_emission){.encode_uncached = tk_offsets_bytes, .lengths = lengths};
    p->max_offset_words = max_words, p->offset_lines = BYTES_OFFSET_LINES;
}

void tk_plan_staged(tk_plan *p, const tk_model *tokens, const tk_stage *stages, size_t n_stages, size_t max_words) {
    p->front = p->word_front = (tk_front){.next = tk_front_rule, .edges = TK_EDGES};
    p->model = (tk_unit_model){
        .encode_uncached = tk_encode_uncached_staged, .tokens = tokens, .stages = stages, .n_stages = n_stages};
    p->emission = (tk_emission){.encode_uncached = tk_offsets_staged};
    p->max_offset_words = max_words;
}

void tk_plan_cut(tk_plan *p, const tk_cut_rule *rule, const tk_cut_rule *word_rule, unsigned edges) {
    if (rule) p->part_rule = p->front.rule = rule, p->front.edges = edges;
    if (word_rule) p->word_front.rule = word_rule, p->word_front.edges = edges;
}

void tk_plan_sp(tk_plan *p, const tk_sp *sp, const uint8_t *word_marks, size_t max_words) {
    p->front = p->word_front = (tk_front){.next = tk_front_sp, .begin = tk_front_sp_begin, .sp = sp};
    p->model = (tk_unit_model){.encode_uncached = tk_encode_uncached_sp, .encode_run = tk_encode_run_sp,
                               .finish = tk_finish_sp, .scored = sp->model == TK_SP_UNIGRAM, .sp = sp};
    p->emission = (tk_emission){
        .encode_uncached = tk_offsets_sp, .finish = tk_offsets_finish_sp, .word_marks = word_marks};
    p->cache_lines = p->offset_lines = SP_LINES;
    p->max_offset_words = max_words, p->max_cached = TK_SP_MAX_UNIT;
}
