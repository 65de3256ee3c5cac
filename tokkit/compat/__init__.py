"""The calls of other libraries in, tokkit's answers out: drop-in faces, each in a module of the library's name."""
