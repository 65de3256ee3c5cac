"""The table of tokenizer classes: name → row."""

from __future__ import annotations

from tokkit.registry.tokenizer_classes import (
    byte_level_rows,
    byte_rows,
    entity_and_box_rows,
    japanese_rows,
    moses_rows,
    piece_bpe_rows,
    piece_rows,
    refused_rows,
    rwkv_rows,
    sentencepiece_rows,
    slow_word_rows,
    speech_rows,
    translation_rows,
    whisper_rows,
    wordpiece_rows,
)
from tokkit.registry.tokenizer_classes.choice import PLAIN
from tokkit.registry.tokenizer_classes.row import Row

CLASSES: dict[str, Row] = {
    PLAIN: Row(files={"vocab_file": "tokenizer.model"}),
    "MistralCommonBackend": Row(
        refused="it runs the package mistral-common; load the folder's tekken.json or .model with tokkit.load instead"
    ),
    "ParakeetTokenizer": Row(files={"vocab_file": "tokenizer.model"}, groups_repeats=True),
    **byte_level_rows.ROWS,
    **wordpiece_rows.ROWS,
    **piece_rows.ROWS,
    **piece_bpe_rows.ROWS,
    **whisper_rows.ROWS,
    **byte_rows.ROWS,
    **slow_word_rows.ROWS,
    **speech_rows.ROWS,
    **japanese_rows.ROWS,
    **moses_rows.ROWS,
    **refused_rows.ROWS,
    **rwkv_rows.ROWS,
    **sentencepiece_rows.ROWS,
    **translation_rows.ROWS,
    **entity_and_box_rows.ROWS,
}
"""Class of transformers 5.24 → its row; names that stand for another class are in choice.py."""
