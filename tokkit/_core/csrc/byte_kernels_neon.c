/* The byte kernels for NEON: see byte_kernels.h, and text/bytes.h for the operations they use. */
#include "isa.h"
#if TK_NEON
#include "text/bytes_neon.h"

#define TK_TABLE tk_byte_kernels_neon
#include "byte_kernels_table.h"
#endif
