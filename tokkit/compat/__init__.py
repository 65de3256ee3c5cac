"""Drop-in replacements for the interfaces of other libraries, each in a module of the library's name."""
