/* Transposing and scaling 4 x 4 floats with SSE, which every x86-64 has. */
#ifndef TK_LANES_FOUR_H
#define TK_LANES_FOUR_H
#include <immintrin.h>
#include "base.h"

TK_INLINE void transpose_four(const float *from, ptrdiff_t step, float *to, ptrdiff_t to_step, float by) {
    const __m128 times = _mm_set1_ps(by);
    __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + step);
    __m128 c = _mm_loadu_ps(from + 2 * step), d = _mm_loadu_ps(from + 3 * step);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, _mm_mul_ps(a, times));
    _mm_storeu_ps(to + to_step, _mm_mul_ps(b, times));
    _mm_storeu_ps(to + 2 * to_step, _mm_mul_ps(c, times));
    _mm_storeu_ps(to + 3 * to_step, _mm_mul_ps(d, times));
}
#endif
