/* A binary heap of rank << 32 | position, from which merging takes its pairs. */
#ifndef TK_MERGE_HEAP_H
#define TK_MERGE_HEAP_H
#include "base.h"

TK_INLINE void tk_heap_sift_down(uint64_t *heap, size_t n, size_t i) {
    uint64_t moved = heap[i];
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= moved) break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

/* Order what was put there in any order. */
static inline void tk_heap_build(uint64_t *heap, size_t n) {
    for (size_t i = n / 2; i-- > 0;) tk_heap_sift_down(heap, n, i);
}

/* There is room. */
static inline void tk_heap_push(uint64_t *heap, size_t *n, uint64_t entry) {
    size_t i = (*n)++;
    for (size_t parent; i && heap[parent = (i - 1) / 2] > entry; i = parent) heap[i] = heap[parent];
    heap[i] = entry;
}

/* n > 0. */
static inline uint64_t tk_heap_pop(uint64_t *heap, size_t *n) {
    uint64_t top = heap[0];
    heap[0] = heap[--*n];
    if (*n) tk_heap_sift_down(heap, *n, 0);
    return top;
}

#endif
