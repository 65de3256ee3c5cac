/* Maps files for large arrays: see big_blocks.h. */
#ifndef _WIN32
#define _DEFAULT_SOURCE
#define _DARWIN_C_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#endif
#include "train/big_blocks.h"

enum { FIRST_MAPPED_BYTES = 1 << 20 };

static int in_heap(tk_big_block *b, size_t count, size_t size) {
    *b = (tk_big_block){tk_alloc(count, size), 0};
    return b->data ? TK_OK : TK_NO_MEMORY;
}

#ifdef _WIN32
int tk_big_block_make(tk_big_block *b, const char *folder, size_t count, size_t size) {
    (void)folder;
    return in_heap(b, count, size);
}

void tk_big_block_free(tk_big_block *b) { free(b->data); }
#else
/* Take the room of a file on the disk. */
static int reserved(int file, size_t n) {
#ifdef __APPLE__
    static const char zeros[1 << 16];
    for (size_t at = 0; at < n; at += sizeof zeros) {
        size_t more = n - at < sizeof zeros ? n - at : sizeof zeros;
        if (pwrite(file, zeros, more, (off_t)at) != (ssize_t)more) return 0;
    }
    return 1;
#else
    return posix_fallocate(file, 0, (off_t)n) == 0;
#endif
}

int tk_big_block_make(tk_big_block *b, const char *folder, size_t count, size_t size) {
    *b = (tk_big_block){NULL, 0};
    if (!folder || !count || !size) return in_heap(b, count, size);
    if (count > (size_t)PTRDIFF_MAX / size) return TK_NO_MEMORY;
    char path[4096];
    size_t n = count * size;
    if (snprintf(path, sizeof path, "%s/.tokkit-training-XXXXXX", folder) >= (int)sizeof path) return TK_NO_DISK;
    int file = mkstemp(path);
    if (file < 0) return TK_NO_DISK;
    unlink(path);
    void *data = reserved(file, n) ? mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    close(file);
    if (data == MAP_FAILED) return TK_NO_DISK;
    *b = (tk_big_block){data, n};
    return TK_OK;
}

void tk_big_block_free(tk_big_block *b) {
    if (b->mapped) munmap(b->data, b->mapped);
    else free(b->data);
}
#endif

int tk_big_block_reserve(tk_big_block *b, const char *folder, size_t *capacity, size_t need, size_t size) {
    TK_ASSERT(b && capacity && size && (b->data || !*capacity));
    if (need <= *capacity) return TK_OK;
    if (!folder) return tk_reserve(&b->data, capacity, need, size);
    size_t grown = *capacity ? *capacity + *capacity / 2 : FIRST_MAPPED_BYTES / size;
    if (grown < need) grown = need;
    tk_big_block moved;
    int status = tk_big_block_make(&moved, folder, grown, size);
    if (status) return status;
    if (*capacity) memcpy(moved.data, b->data, *capacity * size);
    tk_big_block_free(b);
    *b = moved;
    *capacity = grown;
    return TK_OK;
}
