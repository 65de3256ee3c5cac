"""Reads files, stdin and iterators as blocks of documents, in constant memory, and writes files of ids."""
