"""The optimal transport of weights, on which the distance of two documents is based."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tokkit.errors import OptionError


def cheapest(costs: NDArray[np.float64], supply: NDArray[np.float64], demand: NDArray[np.float64]) -> float:
    """Return the minimum cost of moving `supply` (n,) to `demand` (m,), with equal sums; `costs` (n, m) are per unit.

    OptionError if scipy is not installed: it solves the linear program.
    """
    try:
        from scipy.optimize import linprog
        from scipy.sparse import eye_array, kron, vstack
    except ImportError:
        raise OptionError("wmdistance needs scipy (pip install 'pytokkit[counts]')") from None
    n, m = costs.shape
    moved = vstack([kron(eye_array(n), np.ones((1, m))), kron(np.ones((1, n)), eye_array(m))], format="csr")
    found = linprog(costs.ravel(), A_eq=moved, b_eq=np.concatenate([supply, demand]), method="highs")
    if found.fun is None:
        raise ArithmeticError(f"the linear program of {n} × {m} could not be solved: {found.message}")
    return float(found.fun)
