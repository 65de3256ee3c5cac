/* Asking the CPU: see isa.h. */
#include "isa.h"

int tk_isa_supported(int isa) {
#if TK_X86
    __builtin_cpu_init(); /* asks the CPU and the system, which must save the registers */
    int bits = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    if (isa == TK_ISA_AVX2) return bits && __builtin_cpu_supports("avx2");
    if (isa == TK_ISA_AVX512)
        return bits && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512vbmi2");
#endif
    if (isa == TK_ISA_NEON) return TK_NEON; /* every such CPU has it */
    return isa == TK_ISA_SCALAR;
}

int tk_isa_of_floats(int isa) {
#if TK_X86
    __builtin_cpu_init();
    if (isa == TK_ISA_AVX512 && !(__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("fma")))
        isa = TK_ISA_AVX2;
    if (isa == TK_ISA_AVX2 && !__builtin_cpu_supports("fma")) isa = TK_ISA_SCALAR;
#endif
    return isa == TK_ISA_NEON ? TK_ISA_SCALAR : isa;
}

int tk_isa_of_short_rows(int isa) {
#if TK_X86
    __builtin_cpu_init();
    if (isa == TK_ISA_AVX512 && __builtin_cpu_is("amdfam19h")) return TK_ISA_AVX2;
#endif
    return isa;
}
