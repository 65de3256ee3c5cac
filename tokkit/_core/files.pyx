"""The large tables of tokenizer files: .tiktoken, tokenizer.json, SentencePiece."""

include "files/rank_file.pxi"
include "files/json_tables.pxi"
include "files/model_file.pxi"
