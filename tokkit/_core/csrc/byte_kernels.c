/* Returns the table of byte kernels of an instruction set. */
#include "byte_kernels.h"

extern const tk_byte_kernels tk_byte_kernels_scalar;
#if TK_X86
extern const tk_byte_kernels tk_byte_kernels_avx2, tk_byte_kernels_avx512;
#elif TK_NEON
extern const tk_byte_kernels tk_byte_kernels_neon;
#endif

static const tk_byte_kernels *const tables[TK_ISAS] = {
    [TK_ISA_SCALAR] = &tk_byte_kernels_scalar,
#if TK_X86
    [TK_ISA_AVX2] = &tk_byte_kernels_avx2,
    [TK_ISA_AVX512] = &tk_byte_kernels_avx512,
#elif TK_NEON
    [TK_ISA_NEON] = &tk_byte_kernels_neon,
#endif
};

const tk_byte_kernels *tk_byte_kernels_of(int isa) {
    TK_ASSERT(isa >= 0 && isa < TK_ISAS && tables[isa] && tk_isa_supported(isa));
    return tables[isa];
}

const tk_byte_kernels *tk_kernels = &tk_byte_kernels_scalar;

void tk_isa_use(int isa) { tk_kernels = tk_byte_kernels_of(isa); }
