"""Alternative segmentations: n-best and samples of a lattice, BPE-dropout, and merges step by step.

Begin with segmentations.py for SentencePiece models and with subwords.py for BPE.
"""
