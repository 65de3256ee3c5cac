"""The token models: encode pretokens to ids and spans.

Begin with base.py, and with wordpiece.py, the shortest. bpe.py checks the merges of BPE over bytes.
"""
