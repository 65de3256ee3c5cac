/* The byte kernels in plain C. Those that read one character at a time are in the files that call them. */
#include "byte_kernels.h"
#include "text/bytes_scalar.h"

#include "files/json_lines.h"
#include "sentencepiece/sp_front_loops.h"
#include "split/added.h"
#include "split/scan_family.h"
#include "text/utf8.h"

extern const tk_byte_kernels tk_byte_kernels_scalar;
const tk_byte_kernels tk_byte_kernels_scalar = {
    .from_ucs1 = tk_utf8_from_ucs1,
    .from_ucs2 = tk_utf8_from_ucs2,
    .from_ucs4 = tk_utf8_from_ucs4,
    .utf8_invalid = tk_utf8_invalid_plain,
    .scanners = tk_scanners_scalar,
    .added_skip = tk_added_skip,
    .sp_fill = sp_fill,
    .sp_cut = sp_cut,
    .json_plain = tk_json_plain,
};
