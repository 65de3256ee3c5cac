"""Reads a corpus in constant memory: paths, tables, stdin or iterators go in, blocks of documents come out.

Begin with readers.py; paths.py finds files and records.py takes texts out of tables. encode_file.py and id_writers.py
make files of ids.
"""
