"""Engines run definitions: text → ids, for every tokenizer.

Begin with engine.py; plan.py says what of a definition the core runs and cut_rules.py where a text may be cut for it.
interpreter.py runs the components one by one: the reference, and the way of those that users write.
"""
