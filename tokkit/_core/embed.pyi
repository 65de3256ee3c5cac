"""Types of `embed.pyx`."""
