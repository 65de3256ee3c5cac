/* Large allocations, in huge pages if the system has them, requested before the first access.

   A table that is read at random costs mostly the search for its pages when these are small; an array that is written
   once, the making of them. */
#ifndef TK_LARGE_MEMORY_H
#define TK_LARGE_MEMORY_H
#include "base.h"

enum { TK_LINE_BYTES = 64 };

/* Zeroed memory for a table, aligned to cache lines; NULL where there is none. */
void *tk_table_alloc(size_t bytes);

/* Give it back: with the size it was asked for with. NULL is nothing. */
void tk_table_free(void *table, size_t bytes);

/* Memory for `count` ids, which realloc and free know; NULL where there is none. */
uint32_t *tk_ids_alloc(size_t count);
#endif
