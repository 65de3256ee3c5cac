"""Reads a corpus in constant memory: turns paths, tables, stdin or iterators into blocks of documents.

Begin with readers.py; paths.py finds files, and records.py extracts texts from tables. encode_file.py and id_writers.py
make files of ids.
"""
