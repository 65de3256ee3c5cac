/* Scores of rows by plain C: see dots.h. */
#include "lanes_scalar.h"

#include "dots_loops.h"

void tk_dots_scalar(const tk_dot_work *w, size_t from, size_t to) { dots(w, from, to); }
