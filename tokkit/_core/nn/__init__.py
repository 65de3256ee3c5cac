"""Kernels of models: attention, linear layers, rows; and the layers of encoders and decoders, in one call each."""
