"""Learning: models whose layers know their backward, from token ids to a loss and the gradients of all weights.

`CausalLM` makes the loss of a batch and its gradients; `tokkit.nn.optim` turns these into steps. Begin with
`causal_lm.py`, then `layers.py` and `tape.py`.
"""

from tokkit.nn.grad.causal_lm import CausalLM
from tokkit.nn.grad.parameters import Parameters
from tokkit.nn.grad.tape import Tape

__all__ = ["CausalLM", "Parameters", "Tape"]
