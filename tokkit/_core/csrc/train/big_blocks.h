/* Memory for the large arrays of a training: from the heap, or mapped from temporary files, which the system writes to
   disk if memory is short. */
#ifndef TK_BIG_BLOCKS_H
#define TK_BIG_BLOCKS_H
#include "base.h"

/* All zero is none. */
typedef struct {
    void *data;
    size_t mapped; /* bytes that are mapped, 0 for the heap */
} tk_big_block;

/* Make room for count * size bytes in a file of `folder`, or in the heap where that is NULL: TK_OK, TK_NO_MEMORY or
   TK_NO_DISK. The room on the disk is taken at once, so that writing to it cannot fail. */
int tk_big_block_make(tk_big_block *b, const char *folder, size_t count, size_t size);

/* Make a block that grows hold at least `need` items of `size` bytes; *capacity, 0 for none, is how many it holds. In a
   folder the items are copied to a larger file. The same codes. */
int tk_big_block_reserve(tk_big_block *b, const char *folder, size_t *capacity, size_t need, size_t size);

void tk_big_block_free(tk_big_block *b);

#endif
