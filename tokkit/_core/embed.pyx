"""Training of static vectors, and their files."""
