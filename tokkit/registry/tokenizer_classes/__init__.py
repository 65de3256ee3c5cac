"""Tokenizer classes of transformers, one row each: a folder's files and arguments in, a definition out.

Begin with `table.CLASSES` for the rows, `folder.load` for what happens to a folder, and `build.build` for one class.
"""
