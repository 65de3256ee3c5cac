/* Defines the table of byte kernels of one instruction set: a byte_kernels_*.c includes this once, after its vectors
   (text/bytes_*.h), with TK_TABLE for the name of the table, and TK_KEYS defined if it has the kernels of keys. */
#include "byte_kernels.h"

#include "files/json_lines_loops.h"
#include "sentencepiece/sp_front_loops.h"
#include "split/added_loops.h"
#include "split/cut_units_loops.h"
#include "split/scan_loops.h"
#include "text/utf8_check_loops.h"
#include "text/utf8_loops.h"

extern const tk_byte_kernels TK_TABLE;
const tk_byte_kernels TK_TABLE = {
    .from_ucs1 = from_ucs1,
    .from_ucs2 = from_ucs2,
    .from_ucs4 = from_ucs4,
    .utf8_invalid = utf8_invalid,
    .scanners = scanners,
    .cut_blocks = cut_blocks,
    .added_skip = added_skip,
    .sp_fill = sp_fill,
    .sp_cut = sp_cut,
    .json_plain = json_plain,
#ifdef TK_KEYS
    .bpe_keys = bpe_keys,
#endif
};
