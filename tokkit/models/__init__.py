"""The token models, built from their definitions: pretokens go in, ids and spans come out.

Begin with base.py, and with wordpiece.py, the shortest. bpe.py checks the merges of BPE over bytes.
"""
