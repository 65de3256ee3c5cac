/* Scores of rows by plain C: see dots.h. */
#include "nn/lanes_scalar.h"

#include "nn/dots_loops.h"

void tk_dots_scalar(const tk_dot_work *w, size_t from, size_t to) { dots(w, from, to); }
