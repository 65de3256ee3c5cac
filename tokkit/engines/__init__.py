"""Engines run definitions: text → ids, for every tokenizer.

Begin with engine.py. plan.py decides which stages the core runs, cut_rules.py where a text may be cut. interpreter.py
runs components one by one: the reference, and the way to run components that users write.
"""
