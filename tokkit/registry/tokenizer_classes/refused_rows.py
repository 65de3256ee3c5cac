"""Tokenizer classes that tokkit does not run, each with the reason and the way out."""

from __future__ import annotations

from tokkit.registry.tokenizer_classes.row import Row

ROWS: dict[str, Row] = {
    "FastSpeech2ConformerTokenizer": Row(
        refused="its phones come from the program g2p_en, which tokkit does not run; encode the texts with transformers"
    ),
    "Pop2PianoTokenizer": Row(refused="its input is musical notes, not text; encode them with transformers"),
    "RagTokenizer": Row(
        refused="it is a pair of tokenizers; load the folders question_encoder_tokenizer and generator_tokenizer each"
    ),
}  # fmt: skip
