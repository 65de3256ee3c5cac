"""Regular expressions as Oniguruma reads them: a pattern in; what runs it in C, or its matches, or where it cuts, out.

Begin with compile.py (text → tree → automaton → tables); matching.py runs what is not regular by the `regex` package.
"""
