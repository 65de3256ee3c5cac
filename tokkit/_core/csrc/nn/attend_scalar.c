/* Attention by plain C: see attend.h. */
#include "nn/lanes_scalar.h"

#include "nn/attend_few.h"
#include "nn/attend_tiles.h"

const tk_attenders tk_attenders_scalar = {attend_tiles, attend_few};
