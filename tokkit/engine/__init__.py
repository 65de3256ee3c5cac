"""The engine: a definition in, the ids of texts and the text of ids out; streams and samples of segmentations too.

Begin with engine.py. plan.py decides which stages the core runs, cut_rules.py where a text may be cut. interpreter.py
runs components one by one: it is the reference, and runs components that users write in Python.
"""
