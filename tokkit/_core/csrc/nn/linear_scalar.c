/* Matrix products by plain C: see linear.h. */
#include "nn/lanes_scalar.h"

#include "nn/linear_parts.h"

const tk_multipliers tk_multipliers_scalar = {linear_part, quantise_row};
