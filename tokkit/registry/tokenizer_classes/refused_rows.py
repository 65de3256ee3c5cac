"""Tokenizer classes that tokkit does not run, each with the reason and the way out."""

from __future__ import annotations

from tokkit.registry.tokenizer_classes.row import Row

_MOSES = (
    "its words come from the program sacremoses and its subwords from rules in Python that tokkit does not run; "
    "encode the texts with transformers"
)

ROWS: dict[str, Row] = {
    **dict.fromkeys(
        ("BioGptTokenizer", "FSMTTokenizer", "FlaubertTokenizer", "XLMTokenizer"), Row(refused=_MOSES)
    ),
    "CpmAntTokenizer": Row(
        refused="its words come from the program rjieba, which tokkit does not run; encode the texts with transformers"
    ),
    "FastSpeech2ConformerTokenizer": Row(
        refused="its phones come from the program g2p_en, which tokkit does not run; encode the texts with transformers"
    ),
    "Pop2PianoTokenizer": Row(refused="its input is musical notes, not text; encode them with transformers"),
    "RagTokenizer": Row(
        refused="it is a pair of tokenizers; load the folders question_encoder_tokenizer and generator_tokenizer each"
    ),
}  # fmt: skip
