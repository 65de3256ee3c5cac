/* The memory that one thread encodes with: see sp_engine.h. */
#include "sentencepiece/sp_cache.h"

int tk_sp_make_room(tk_sp_scratch *w, size_t need) {
    void *moved;
    if (need > UINT32_MAX - TK_SP_ROOM) return TK_TOO_LARGE; /* places are of 32 bits */
    if (need > w->room) {
        if (!(moved = realloc(w->text, need + TK_SP_BEHIND))) return TK_NO_MEMORY;
        w->text = moved;
        w->room = need;
    }
    if (tk_reserve(&w->starts, &w->starts_capacity, w->room + TK_SP_BEHIND, sizeof *w->starts)) return TK_NO_MEMORY;
    if (!w->aligned) return TK_OK;
    return tk_reserve(&w->from, &w->from_room, w->room + TK_SP_BEHIND, sizeof *w->from);
}

int tk_sp_scratch_init(tk_sp_scratch *w, size_t cache_units) {
    memset(w, 0, sizeof *w);
    int status = tk_sp_cache_init(&w->cache, cache_units);
    return status == TK_OK ? tk_sp_make_room(w, TK_SP_ROOM) : status;
}

static void free_buffer(tk_sp_scratch *w) {
    free(w->text);
    free(w->from);
    free(w->starts);
    w->text = NULL, w->from = NULL, w->starts = NULL;
    w->room = w->from_room = w->starts_capacity = 0;
}

void tk_sp_scratch_free(tk_sp_scratch *w) {
    tk_sp_cache_free(&w->cache);
    free_buffer(w);
    free(w->ids);
    free(w->spans);
    free(w->nodes);
    free(w->tokens);
    free(w->symbols);
    tk_merge_scratch_free(&w->merge);
    free(w->parts);
    free(w->utf8);
    memset(w, 0, sizeof *w);
}

void tk_sp_scratch_shrink(tk_sp_scratch *w, size_t most) {
    if (w->room > most / 16) free_buffer(w);
    tk_shrink(&w->ids, &w->ids_capacity, sizeof *w->ids, most);
    tk_shrink(&w->spans, &w->spans_capacity, sizeof *w->spans, most);
    tk_shrink(&w->nodes, &w->nodes_capacity, sizeof *w->nodes, most);
    tk_shrink(&w->tokens, &w->tokens_capacity, sizeof *w->tokens, most);
    tk_shrink(&w->symbols, &w->symbols_capacity, 32, most);
    tk_merge_scratch_shrink(&w->merge, most);
    tk_shrink(&w->parts, &w->parts_capacity, sizeof *w->parts, most);
    tk_shrink(&w->utf8, &w->utf8_capacity, 1, most);
}
