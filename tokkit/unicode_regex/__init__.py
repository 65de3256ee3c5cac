"""Regular expressions in Oniguruma's syntax: compiles them for the core, finds matches, and analyses where to cut.

Begin with compile.py (text → tree → automaton → tables); matching.py runs non-regular patterns with the `regex`
package.
"""
