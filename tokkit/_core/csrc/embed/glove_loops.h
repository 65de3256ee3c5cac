/* The loop of glove.h, with the vector operations of lanes_*.h. */
#ifndef TK_GLOVE_LOOPS_H
#define TK_GLOVE_LOOPS_H
#include "embed/glove.h"

/* A record's rows are asked for so many records before its turn. */
enum { GLOVE_AHEAD = 3 };
/* Steps of gradients beyond this are cut to it, as the original program does. */
static const float GLOVE_LARGEST = 100.0f;

TK_INLINE void glove_ask_for(const tk_glove_work *w, const tk_glove_record *r) {
    const float *word = w->words + 2 * w->step * r->word, *context = w->contexts + 2 * w->step * r->context;
    for (size_t i = 0; i < 2 * w->step; i += 16) {
        TK_PREFETCH_WRITE(word + i);
        TK_PREFETCH_WRITE(context + i);
    }
}

/* The gradient's step of a half by AdaGrad: by rates × gradient ÷ √(1 + sum of the squares before). */
TK_INLINE void glove_descend(float *x, vf now, vf gradient, vf rate, size_t step) {
    gradient = v_mul(v_max(v_set1(-GLOVE_LARGEST), v_min(v_set1(GLOVE_LARGEST), gradient)), rate);
    vf squares = v_load(x + step);
    v_store(x, v_sub(now, v_div(gradient, v_sqrt(squares))));
    v_store(x + step, v_fma(gradient, gradient, squares));
}

static double glove(const tk_glove_work *w, size_t from, size_t to) {
    const size_t step = w->step;
    double loss = 0;
    TK_ASSERT(from <= to && to <= w->n && step % VL == 0);
    for (size_t i = from; i < to; i++) {
        const tk_glove_record r = w->records[i];
        float *word = w->words + 2 * step * r.word, *context = w->contexts + 2 * step * r.context;
        if (i + GLOVE_AHEAD < to) glove_ask_for(w, &w->records[i + GLOVE_AHEAD]);
        vf sums[2] = {v_set1(0), v_set1(0)};
        size_t k = 0;
        for (; k + 2 * VL <= step; k += 2 * VL) {
            sums[0] = v_fma(v_load(word + k), v_load(context + k), sums[0]);
            sums[1] = v_fma(v_load(word + k + VL), v_load(context + k + VL), sums[1]);
        }
        if (k < step) sums[0] = v_fma(v_load(word + k), v_load(context + k), sums[0]);
        float difference = v_sum(v_add(sums[0], sums[1])) - r.log_count;
        loss += 0.5 * (double)r.weight * difference * difference;
        vf by = v_set1(r.weight * difference);
        for (k = 0; k < step; k += VL) {
            vf x = v_load(word + k), y = v_load(context + k);
            glove_descend(word + k, x, v_mul(by, y), v_load(w->word_rates + k), step);
            glove_descend(context + k, y, v_mul(by, x), v_load(w->context_rates + k), step);
        }
    }
    return loss;
}
#endif
