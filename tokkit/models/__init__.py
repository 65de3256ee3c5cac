"""The token models: encode pretokens to ids and spans.

Begin with base.py, and with wordpiece.py, the shortest. bpe.py has BPE over bytes, sentencepiece.py the models of
SentencePiece as data.
"""
