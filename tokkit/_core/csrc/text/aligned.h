/* A text between the stages of a tokenizer: each stage changes or cuts it, and every byte stays aligned with the
   original.

   The text is cut into pieces. A stage changes their text (tk_rewrite_*) or cuts them into smaller ones
   (tk_cut_*); text between pieces has been dropped. A piece that is an added token already is left as it is. What a
   byte is aligned with follows tokenizers' NormalizedString, whose offsets ours must equal. */
#ifndef TK_ALIGNED_H
#define TK_ALIGNED_H
#include "base.h"
#include "text/utf8.h"

enum { TK_NO_TOKEN = -1 };

typedef struct {
    size_t start, end; /* bytes of the text as it is now */
    int64_t id;        /* of an added token, or TK_NO_TOKEN */
} tk_piece;

typedef struct {
    uint32_t start, end; /* bytes of the original */
} tk_span;

_Static_assert(sizeof(tk_span) == 8, "spans are copied as pairs of 32 bits");

/* Where the first piece begins, for stages that put something before a text: at the start of the text that the user
   gave, after an added token, or inside, where only a part of a text is encoded by itself. */
enum { TK_AT_TEXT_START, TK_AT_SECTION_START, TK_INSIDE };

typedef struct tk_aligned tk_aligned;
struct tk_aligned {
    uint8_t *text; /* UTF-8; TK_ALIGNED_SLACK readable bytes stand after it */
    size_t n;
    tk_span *spans; /* for each byte of the text, where it comes from; NULL where that is its own character */
    tk_piece *pieces;
    size_t n_pieces, capacity;
    size_t n_original;
    size_t most; /* bytes that changes may make of it, as TK_GROWN tells; 0: up to 4 GiB */
    size_t text_capacity, spans_capacity;
    int place, goes_on;  /* of the first piece; whether text follows the last one, of which this is a part */
    int shifted;         /* characters went uncounted at the start of a piece: all after them is aligned too early */
    tk_span *idle_spans; /* memory for `spans` while that is NULL, or NULL */
    tk_aligned *spare;   /* memory that the next change is written to, and that of this one goes to then; may be NULL */
};

enum { TK_ALIGNED_SLACK = 64 };

/* One piece that is all of the text; 0, TK_NO_MEMORY, or TK_TOO_LARGE for 4 GiB or more. */
int tk_aligned_init(tk_aligned *a, const uint8_t *text, size_t n);
void tk_aligned_free(tk_aligned *a);

/* The same for a text that has memory already (or is all zero, but for `spare`): what is there is used again. */
int tk_aligned_reset(tk_aligned *a, const uint8_t *text, size_t n, int place, int goes_on);

/* Spans of its own, for a text that has none yet; 0 or TK_NO_MEMORY. */
int tk_aligned_spell_out(tk_aligned *a);

/* Where text[start:end], which is not empty, comes from. */
TK_INLINE tk_span tk_aligned_span(const tk_aligned *a, size_t start, size_t end) {
    TK_ASSERT(start < end && end <= a->n);
    if (a->spans) return (tk_span){a->spans[start].start, a->spans[end - 1].end};
    while (tk_is_continuation(a->text[start])) start--;
    while (end < a->n && tk_is_continuation(a->text[end])) end++;
    return (tk_span){(uint32_t)start, (uint32_t)end};
}

/* ---- changing what stands in the pieces */

typedef struct {
    const tk_aligned *from;
    tk_aligned made;
    size_t at, end;     /* what is left of the piece that is read */
    size_t began;       /* where the piece that is read begins, */
    size_t piece_start; /* and where what became of it */
    int64_t id;
    int open, status;
} tk_rewrite;

/* Begin a new text; then take each piece that is no added token in turn, and end. All that has failed on the way
   shows in the status that tk_rewrite_end returns; the text is as it was then. */
int tk_rewrite_begin(tk_rewrite *w, const tk_aligned *from);
int tk_rewrite_end(tk_rewrite *w, tk_aligned *a);

/* End with the text as it was; TK_OK. */
int tk_rewrite_cancel(tk_rewrite *w);

/* The next piece to change: its number, or from->n_pieces; added tokens before it are kept. What was not read of the
   piece before is dropped. `number` is the one after the piece taken last, 0 at first. */
size_t tk_rewrite_next(tk_rewrite *w, size_t number);

TK_INLINE int tk_rewrite_room(tk_rewrite *w, size_t n) {
    size_t need = w->made.n + n;
    tk_aligned *made = &w->made;
    if (TK_LIKELY(need + TK_ALIGNED_SLACK <= made->text_capacity && need <= made->spans_capacity)) return 1;
    if (w->status == TK_OK && w->from->most && need > w->from->most) w->status = TK_GROWN;
    if (w->status == TK_OK) w->status = tk_reserve(&made->text, &made->text_capacity, need + TK_ALIGNED_SLACK, 1);
    if (w->status == TK_OK) w->status = tk_reserve(&made->spans, &made->spans_capacity, need, sizeof(tk_span));
    return w->status == TK_OK;
}

/* n bytes, all from one span of the original. */
TK_INLINE void tk_rewrite_bytes(tk_rewrite *w, const uint8_t *bytes, size_t n, tk_span span) {
    if (TK_UNLIKELY(!tk_rewrite_room(w, n))) return;
    TK_ASSERT(span.start <= span.end && span.end <= w->made.n_original);
    for (size_t i = 0; i < n; i++) w->made.text[w->made.n + i] = bytes[i], w->made.spans[w->made.n + i] = span;
    w->made.n += n;
}

/* The next n bytes of the piece, whole characters, unchanged. */
void tk_rewrite_keep(tk_rewrite *w, size_t n);

/* Pass over the next n bytes of the piece, whole characters: nothing comes of them. */
TK_INLINE void tk_rewrite_drop(tk_rewrite *w, size_t n) {
    TK_ASSERT(w->at <= w->end && n <= w->end - w->at);
    w->at += n;
}

/* Where the character at the cursor comes from; where there is none, what stands before it. */
TK_INLINE tk_span tk_rewrite_here(const tk_rewrite *w) {
    const tk_aligned *from = w->from;
    TK_ASSERT(w->open && w->began <= w->at && w->at <= w->end);
    if (w->at < w->end) return from->spans ? from->spans[w->at] : tk_aligned_span(from, w->at, w->at + 1);
    return w->at > w->began ? tk_aligned_span(from, w->at - 1, w->at) : (tk_span){0, 0};
}

/* Where text that is put in before the cursor comes from: the character before it; at the start of a piece, the
   place where that begins. */
TK_INLINE tk_span tk_rewrite_before(const tk_rewrite *w) {
    TK_ASSERT(w->open && w->began <= w->at && w->at <= w->end);
    if (w->at > w->began) return tk_aligned_span(w->from, w->at - 1, w->at);
    if (w->at >= w->from->n) return (tk_span){(uint32_t)w->from->n_original, (uint32_t)w->from->n_original};
    tk_span first = w->from->spans ? w->from->spans[w->at] : (tk_span){(uint32_t)w->at, 0};
    return (tk_span){first.start, first.start};
}

/* Put content in the place of the next n bytes. The last character of these is where it comes from. */
TK_INLINE void tk_rewrite_replace(tk_rewrite *w, size_t n, const uint8_t *content, size_t n_content) {
    tk_rewrite_drop(w, n);
    tk_rewrite_bytes(w, content, n_content, tk_rewrite_before(w));
}

/* One character: with `change` 1 it is put in; otherwise it stands for the character at the cursor, which is read,
   and -change more that are dropped. */
TK_INLINE void tk_rewrite_put(tk_rewrite *w, uint32_t c, int change) {
    TK_ASSERT(change <= 1);
    uint8_t bytes[4];
    size_t n = (size_t)(tk_utf8_put(bytes, c) - bytes);
    tk_span span = change > 0 ? tk_rewrite_before(w) : tk_rewrite_here(w);
    for (; change <= 0 && w->at < w->end; change++) w->at += tk_utf8_length(w->from->text[w->at]);
    tk_rewrite_bytes(w, bytes, n, span);
}

/* The character at the cursor, which is inside the piece; *length gets its bytes. */
TK_INLINE uint32_t tk_rewrite_peek(const tk_rewrite *w, unsigned *length) {
    TK_ASSERT(w->at < w->end);
    return tk_utf8_decode(w->from->text + w->at, length);
}

/* ---- cutting the pieces */

typedef struct {
    const tk_aligned *from;
    tk_piece *pieces;
    size_t n, capacity;
    int status;
} tk_cut;

/* Begin a new list of pieces; add those that come of each old one, in order (also the added tokens, as they are:
   tk_cut_next does that), and end. */
void tk_cut_begin(tk_cut *cut, const tk_aligned *from);
int tk_cut_end(tk_cut *cut, tk_aligned *a);

/* The number of the next piece that is no added token, or from->n_pieces; added tokens before it are kept. */
size_t tk_cut_next(tk_cut *cut, size_t number);

/* A piece of the text; an empty one is none. */
TK_INLINE void tk_cut_add(tk_cut *cut, size_t start, size_t end, int64_t id) {
    TK_ASSERT(end <= cut->from->n && (id == TK_NO_TOKEN || id >= 0));
    if (start >= end) return;
    TK_ASSERT(!cut->n || start >= cut->pieces[cut->n - 1].start);
    if (cut->n == cut->capacity) {
        if (cut->status == TK_OK) cut->status = tk_reserve(&cut->pieces, &cut->capacity, cut->n + 1, sizeof(tk_piece));
        if (cut->status != TK_OK) return;
    }
    cut->pieces[cut->n++] = (tk_piece){start, end, id};
}

#endif
