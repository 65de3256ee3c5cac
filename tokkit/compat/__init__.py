"""The faces of other libraries over tokkit: for each, a module whose classes take the same calls."""
