"""Kernels of training: products of any layout, backward passes, optimizers."""
