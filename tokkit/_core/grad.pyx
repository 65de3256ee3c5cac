"""Kernels of training: products of any layout, backward passes, optimizers."""

include "nn/floats.pxi"
include "grad/backward.pxi"
include "grad/attention.pxi"
include "grad/batch_norm.pxi"
include "grad/optim.pxi"

from tokkit._core.nn cimport team, tk_team_use

tk_team_use(team())
