"""Files of vectors: word2vec's .bin and text, GloVe's and fastText's text, and our own mapped ones.

A path goes in; keys and a matrix (n, d) come out, or the reverse. Begin reading with detection.py.
"""
