/* Attention by plain C: see attend.h. */
#include "lanes_scalar.h"

#include "attend_few.h"
#include "attend_tiles.h"

const tk_attenders tk_attenders_scalar = {attend_tiles, attend_few};
