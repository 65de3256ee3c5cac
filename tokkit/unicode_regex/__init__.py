"""Regular expressions as Oniguruma reads them: compiled for the core, matched, and analysed for cut points.

Begin with compile.py (text → tree → automaton → tables); matching.py runs what is not regular by the `regex` package.
"""
