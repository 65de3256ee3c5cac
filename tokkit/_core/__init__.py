"""The compiled core: buffers in, buffers out. It imports nothing of tokkit."""
