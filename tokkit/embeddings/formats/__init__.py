"""Files of vectors: word2vec's .bin and text, GloVe's and fastText's text, and our own mapped ones.

Reads a path to keys and a matrix (n, d), and writes them. Begin with detection.py.
"""
