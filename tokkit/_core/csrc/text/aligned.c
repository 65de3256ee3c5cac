/* Changes and cuts a text, and keeps it aligned with the original: see aligned.h. */
#include "text/aligned.h"

int tk_aligned_init(tk_aligned *a, const uint8_t *text, size_t n) {
    memset(a, 0, sizeof *a);
    int status = tk_aligned_reset(a, text, n, TK_AT_TEXT_START, 0);
    if (status != TK_OK) tk_aligned_free(a);
    return status;
}

int tk_aligned_reset(tk_aligned *a, const uint8_t *text, size_t n, int place, int goes_on) {
    TK_ASSERT(a && (text || !n));
    TK_ASSERT(place == TK_AT_TEXT_START || place == TK_AT_SECTION_START || place == TK_INSIDE);
    if (n > UINT32_MAX) return TK_TOO_LARGE;
    if (tk_reserve(&a->text, &a->text_capacity, n + TK_ALIGNED_SLACK, 1) != TK_OK ||
        tk_reserve(&a->pieces, &a->capacity, 1, sizeof(tk_piece)) != TK_OK)
        return TK_NO_MEMORY;
    memcpy(a->text, text, n);
    memset(a->text + n, 0, TK_ALIGNED_SLACK);
    if (a->spans) a->idle_spans = a->spans, a->spans = NULL;
    a->n = a->n_original = n;
    a->pieces[0] = (tk_piece){0, n, TK_NO_TOKEN};
    a->n_pieces = n > 0;
    a->place = place;
    a->goes_on = goes_on;
    a->shifted = 0;
    return TK_OK;
}

/* Give back all memory of its own. */
static void release(tk_aligned *a) {
    free(a->text);
    free(a->spans);
    free(a->idle_spans);
    free(a->pieces);
}

void tk_aligned_free(tk_aligned *a) {
    release(a);
    memset(a, 0, sizeof *a);
}

/* The spans of text[start:end] where each character comes from itself. */
static void own_spans(const uint8_t *text, size_t start, size_t end, tk_span *out) {
    enum { BLOCK = 16 }; /* of ASCII: compilers make vectors of it */
    const uint64_t high = UINT64_C(0x8080808080808080);
    TK_ASSERT(start <= end && (start == end || !tk_is_continuation(text[start])));
    for (size_t at = start; at < end;) {
        if (text[at] < 0x80 && at + BLOCK <= end && !((tk_load64(text + at) | tk_load64(text + at + 8)) & high)) {
            for (uint32_t k = 0; k < BLOCK; k++) out[k] = (tk_span){(uint32_t)at + k, (uint32_t)at + k + 1};
            at += BLOCK;
            out += BLOCK;
            continue;
        }
        unsigned length = tk_utf8_length(text[at]);
        for (unsigned k = 0; k < length; k++) *out++ = (tk_span){(uint32_t)at, (uint32_t)(at + length)};
        at += length;
    }
}

int tk_aligned_spell_out(tk_aligned *a) {
    if (a->spans) return TK_OK;
    if (tk_reserve(&a->idle_spans, &a->spans_capacity, a->n, sizeof(tk_span)) != TK_OK) return TK_NO_MEMORY;
    a->spans = a->idle_spans;
    a->idle_spans = NULL;
    own_spans(a->text, 0, a->n, a->spans);
    TK_ASSERT(a->n == a->n_original);
    return TK_OK;
}

/* ---- changing what stands in the pieces */

/* Whether pieces are not empty, begin in order, and are in the text; and spans are in the original. */
static inline int is_sound(const tk_aligned *a) {
    for (size_t k = 0; k < a->n_pieces; k++)
        if (a->pieces[k].start >= a->pieces[k].end || a->pieces[k].end > a->n ||
            (k && a->pieces[k].start < a->pieces[k - 1].start))
            return 0;
    for (size_t i = 0; a->spans && i < a->n; i++)
        if (a->spans[i].start > a->spans[i].end || a->spans[i].end > a->n_original) return 0;
    return a->n_pieces <= a->capacity && a->n + TK_ALIGNED_SLACK <= a->text_capacity;
}

int tk_rewrite_begin(tk_rewrite *w, const tk_aligned *from) {
    TK_ASSERT(is_sound(from) && from->spare != from);
    memset(w, 0, sizeof *w);
    w->from = from;
    if (from->spare) {
        w->made = *from->spare;
        memset(from->spare, 0, sizeof *from->spare);
        if (!w->made.spans) w->made.spans = w->made.idle_spans;
        w->made.idle_spans = NULL;
        w->made.n = w->made.n_pieces = 0;
    }
    w->made.spare = from->spare;
    w->made.place = from->place;
    w->made.goes_on = from->goes_on;
    w->made.shifted = from->shifted;
    w->made.n_original = from->n_original;
    tk_rewrite_room(w, from->n + from->n / 8);
    return w->status;
}

static void close_piece(tk_rewrite *w) {
    tk_aligned *made = &w->made;
    if (!w->open) return;
    w->open = 0;
    if (made->n == w->piece_start || w->status != TK_OK) return;
    w->status = tk_reserve(&made->pieces, &made->capacity, made->n_pieces + 1, sizeof(tk_piece));
    if (w->status == TK_OK) made->pieces[made->n_pieces++] = (tk_piece){w->piece_start, made->n, w->id};
}

static void open_piece(tk_rewrite *w, const tk_piece *piece) {
    close_piece(w);
    w->at = w->began = piece->start;
    w->end = piece->end;
    w->piece_start = w->made.n;
    w->id = piece->id;
    w->open = 1;
}

size_t tk_rewrite_next(tk_rewrite *w, size_t number) {
    TK_ASSERT(number <= w->from->n_pieces);
    const tk_aligned *from = w->from;
    for (; number < from->n_pieces && from->pieces[number].id != TK_NO_TOKEN; number++) {
        open_piece(w, from->pieces + number);
        tk_rewrite_keep(w, w->end - w->at);
    }
    if (number < from->n_pieces) open_piece(w, from->pieces + number);
    else close_piece(w);
    return number;
}

void tk_rewrite_keep(tk_rewrite *w, size_t n) {
    TK_ASSERT(w->at <= w->end && n <= w->end - w->at);
    if (!tk_rewrite_room(w, n)) return;
    memcpy(w->made.text + w->made.n, w->from->text + w->at, n);
    if (w->from->spans) memcpy(w->made.spans + w->made.n, w->from->spans + w->at, n * sizeof(tk_span));
    else own_spans(w->from->text, w->at, w->at + n, w->made.spans + w->made.n);
    w->made.n += n;
    w->at += n;
}

int tk_rewrite_end(tk_rewrite *w, tk_aligned *a) {
    TK_ASSERT(w->from == a);
    close_piece(w);
    if (w->status == TK_OK && w->made.n > UINT32_MAX) w->status = TK_TOO_LARGE;
    if (w->status != TK_OK) return tk_aligned_free(&w->made), w->status;
    memset(w->made.text + w->made.n, 0, TK_ALIGNED_SLACK);
    tk_work += w->made.n;
    w->made.most = a->most;
    if (a->spare) *a->spare = *a;
    else release(a);
    *a = w->made;
    TK_ASSERT(is_sound(a));
    return TK_OK;
}

int tk_rewrite_cancel(tk_rewrite *w) {
    tk_aligned *spare = w->from->spare;
    if (spare) *spare = w->made;
    else release(&w->made);
    return TK_OK;
}

/* ---- cutting the pieces */

void tk_cut_begin(tk_cut *cut, const tk_aligned *from) {
    TK_ASSERT(is_sound(from) && from->spare != from);
    memset(cut, 0, sizeof *cut);
    cut->from = from;
    if (!from->spare) return;
    cut->pieces = from->spare->pieces;
    cut->capacity = from->spare->capacity;
    from->spare->pieces = NULL;
    from->spare->capacity = 0;
}

size_t tk_cut_next(tk_cut *cut, size_t number) {
    TK_ASSERT(number <= cut->from->n_pieces);
    const tk_aligned *from = cut->from;
    for (; number < from->n_pieces && from->pieces[number].id != TK_NO_TOKEN; number++)
        tk_cut_add(cut, from->pieces[number].start, from->pieces[number].end, from->pieces[number].id);
    return number;
}

int tk_cut_end(tk_cut *cut, tk_aligned *a) {
    TK_ASSERT(cut->from == a);
    if (cut->status != TK_OK) return free(cut->pieces), cut->status;
    tk_work += cut->n;
    if (a->spare) {
        a->spare->pieces = a->pieces;
        a->spare->capacity = a->capacity;
    } else {
        free(a->pieces);
    }
    a->pieces = cut->pieces;
    a->n_pieces = cut->n;
    a->capacity = cut->capacity;
    TK_ASSERT(is_sound(a));
    return TK_OK;
}
