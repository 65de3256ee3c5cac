"""The compiled core. It takes and returns buffers, and imports nothing else of tokkit."""
