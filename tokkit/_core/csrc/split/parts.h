/* A list of the chunks of a text that threads share, and the position of each chunk's ids in the common result.

   Threads claim chunks in order and finish them in any order; the position of a chunk is known once all chunks before
   it are finished. The thread that finishes one sets the positions that are known by then, and each thread moves its
   own ids there while they are still in its cache. */
#ifndef TK_PARTS_H
#define TK_PARTS_H
#include <stdatomic.h>

#include "base.h"

/* Why no more parts are given out: those out already shall still be finished, or be dropped as well. */
enum { TK_GOES_ON = 0, TK_FINISH = 1, TK_LEAVE = 2 };

typedef struct {
    size_t first, end;   /* segments */
    size_t start, n_ids; /* in the buffer of the thread that encoded it, */
    size_t worker;       /* whose number this is */
    size_t next;         /* the part that it encoded after this one */
    size_t place;        /* of the ids in the result */
    _Atomic(int) finished;
} tk_part;

typedef struct {
    tk_part *list;
    size_t n, capacity;
    _Atomic(size_t) claimed, placed; /* parts below have been given out; have their place */
    _Atomic(size_t) room;            /* ids that the result holds */
    size_t total;                    /* ids of the parts placed; belongs to who holds `placing` */
    _Atomic(int) end, placing;
} tk_parts;

/* The next part, or the number of parts for none. */
static inline size_t tk_parts_claim(tk_parts *parts) {
    if (atomic_load_explicit(&parts->end, memory_order_relaxed) != TK_GOES_ON) return parts->n;
    size_t number = atomic_fetch_add_explicit(&parts->claimed, 1, memory_order_relaxed);
    return number < parts->n ? number : parts->n;
}

/* Who is told to leave is not told to finish afterwards. */
static inline void tk_parts_end(tk_parts *parts, int why) {
    TK_ASSERT(why == TK_FINISH || why == TK_LEAVE);
    int goes_on = TK_GOES_ON;
    if (why == TK_LEAVE) atomic_store(&parts->end, why);
    else atomic_compare_exchange_strong(&parts->end, &goes_on, why);
}

static inline int tk_parts_dropped(tk_parts *parts) {
    return atomic_load_explicit(&parts->end, memory_order_relaxed) == TK_LEAVE;
}

/* Places for all parts that can have one: nobody waits for another thread that is at it. */
static inline void tk_parts_place(tk_parts *parts) {
    if (atomic_exchange_explicit(&parts->placing, 1, memory_order_acquire)) return;
    size_t k = atomic_load_explicit(&parts->placed, memory_order_relaxed);
    size_t room = atomic_load_explicit(&parts->room, memory_order_acquire);
    for (; k < parts->n; k++) {
        tk_part *part = parts->list + k;
        TK_ASSERT(parts->total <= room);
        if (!atomic_load_explicit(&part->finished, memory_order_acquire) || part->n_ids > room - parts->total) break;
        part->place = parts->total;
        parts->total += part->n_ids;
    }
    atomic_store_explicit(&parts->placed, k, memory_order_release);
    atomic_store_explicit(&parts->placing, 0, memory_order_release);
}

static inline void tk_parts_finish(tk_parts *parts, size_t number) {
    TK_ASSERT(number < parts->n && !atomic_load_explicit(&parts->list[number].finished, memory_order_relaxed));
    atomic_store_explicit(&parts->list[number].finished, 1, memory_order_release);
    tk_parts_place(parts);
}

/* Parts below this have a place, and the result has room for them. */
static inline size_t tk_parts_placed(tk_parts *parts) {
    return atomic_load_explicit(&parts->placed, memory_order_acquire);
}

static inline void tk_parts_make_room(tk_parts *parts, size_t n_ids) {
    atomic_store_explicit(&parts->room, n_ids, memory_order_release);
}

/* One more part that begins with a segment; 0 or TK_NO_MEMORY. */
static inline int tk_parts_add(tk_parts *parts, size_t first) {
    int status = tk_reserve(&parts->list, &parts->capacity, parts->n + 1, sizeof *parts->list);
    if (status != TK_OK) return status;
    memset(parts->list + parts->n, 0, sizeof *parts->list);
    parts->list[parts->n++].first = first;
    return TK_OK;
}

#endif
