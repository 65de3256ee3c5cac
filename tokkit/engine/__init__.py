"""The engine runs definitions: text to ids, ids to text, whole or as streams; and it samples segmentations.

Begin with engine.py. plan.py decides which stages the core runs, cut_rules.py where a text may be cut. interpreter.py
runs components one by one: it is the reference, and runs components that users write in Python.
"""
