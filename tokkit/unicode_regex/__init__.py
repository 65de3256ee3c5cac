"""Regular expressions of four dialects: one parser, automata for the core, matches, and where a text may be cut.

Begin with dialects.py (what differs), syntax.py (text → tree) and compile.py (tree → automaton → tables). matching.py
runs what is not regular with the `regex` package, from the text that writing.py makes of the tree.
"""
