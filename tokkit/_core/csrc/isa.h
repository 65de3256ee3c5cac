/* The instruction sets the vector code is compiled for, and the one that this process uses. */
#ifndef TK_ISA_H
#define TK_ISA_H

enum { TK_ISA_SCALAR = 0, TK_ISA_AVX2 = 1, TK_ISA_AVX512 = 2, TK_ISA_NEON = 3, TK_ISAS = 4 };

#if defined(__x86_64__) && defined(__GNUC__)
#define TK_X86 1
#else
#define TK_X86 0
#endif
#if defined(__aarch64__) && defined(__GNUC__) && !defined(__AARCH64EB__)
#define TK_NEON 1
#else
#define TK_NEON 0
#endif

int tk_isa_supported(int isa);

/* What the kernels of numbers (attend.h, linear.h, rows.h) run where the rest runs `isa`: they want FMA, and VNNI of
   AVX-512; NEON gets the plain C, which compilers make NEON of. */
int tk_isa_of_floats(int isa);

/* What loops over rows of some hundred floats, at any address, run where the kernels of numbers run `isa`: AVX2 instead
   of AVX-512 on CPUs of AMD that do 512 bits in two steps. */
int tk_isa_of_short_rows(int isa);

#endif
