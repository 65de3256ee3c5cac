"""Text in, text and alignment out: one component a file."""
