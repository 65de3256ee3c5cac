/* Returns the table of float kernels of an instruction set. */
#include "nn/float_kernels.h"

extern const tk_float_kernels tk_float_kernels_scalar;
#if TK_X86
extern const tk_float_kernels tk_float_kernels_avx2, tk_float_kernels_avx512;
#endif

static const tk_float_kernels *const tables[TK_ISAS] = {
    [TK_ISA_SCALAR] = &tk_float_kernels_scalar,
#if TK_X86
    [TK_ISA_AVX2] = &tk_float_kernels_avx2,
    [TK_ISA_AVX512] = &tk_float_kernels_avx512,
#endif
};

const tk_float_kernels *tk_float_kernels_of(int isa) {
    TK_ASSERT(isa >= 0 && isa < TK_ISAS && tables[isa]);
    return tables[isa];
}
