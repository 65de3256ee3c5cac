"""Makes the protobuf classes of sentencepiece's messages from tables of their fields, if protobuf is installed.

They are in a descriptor pool of their own, so that the modules of sentencepiece and transformers, which have messages
of the same names, can be imported in the same process.
"""

from __future__ import annotations

from typing import Any

Fields = tuple[tuple[str, int, str, str], ...]
"""(name, number, type, default) of each field; "*" before a type is a repeated field."""

PACKAGE = "sentencepiece"
EXTENSIONS = (200, 1 << 29)
"""Numbers of fields that other programs may add: from the first, below the second."""

TRAINER_SPEC: Fields = (
    ("input", 1, "*string", ""),
    ("input_format", 7, "string", ""),
    ("model_prefix", 2, "string", ""),
    ("model_type", 3, "TrainerSpec.ModelType", "UNIGRAM"),
    ("vocab_size", 4, "int32", "8000"),
    ("character_coverage", 10, "float", "0.9995"),
    ("input_sentence_size", 11, "uint64", "0"),
    ("shuffle_input_sentence", 19, "bool", "true"),
    ("seed_sentencepiece_size", 14, "int32", "1000000"),
    ("shrinking_factor", 15, "float", "0.75"),
    ("max_sentence_length", 18, "int32", "4192"),
    ("num_threads", 16, "int32", "16"),
    ("num_sub_iterations", 17, "int32", "2"),
    ("max_sentencepiece_length", 20, "int32", "16"),
    ("split_by_unicode_script", 21, "bool", "true"),
    ("split_by_number", 23, "bool", "true"),
    ("split_by_whitespace", 22, "bool", "true"),
    ("treat_whitespace_as_suffix", 24, "bool", "false"),
    ("allow_whitespace_only_pieces", 26, "bool", "false"),
    ("split_digits", 25, "bool", "false"),
    ("pretokenization_delimiter", 53, "string", ""),
    ("control_symbols", 30, "*string", ""),
    ("user_defined_symbols", 31, "*string", ""),
    ("required_chars", 36, "string", ""),
    ("byte_fallback", 35, "bool", "false"),
    ("vocabulary_output_piece_score", 32, "bool", "true"),
    ("hard_vocab_limit", 33, "bool", "true"),
    ("use_all_vocab", 34, "bool", "false"),
    ("unk_id", 40, "int32", "0"),
    ("bos_id", 41, "int32", "1"),
    ("eos_id", 42, "int32", "2"),
    ("pad_id", 43, "int32", "-1"),
    ("unk_piece", 45, "string", "<unk>"),
    ("bos_piece", 46, "string", "<s>"),
    ("eos_piece", 47, "string", "</s>"),
    ("pad_piece", 48, "string", "<pad>"),
    ("unk_surface", 44, "string", " \u2047 "),
    ("seed_sentencepieces_file", 54, "string", ""),
    ("auto_character_coverage", 55, "bool", "false"),
    ("accept_language", 5, "*string", ""),
    ("self_test_sample_size", 6, "int32", "0"),
    ("mining_sentence_size", 12, "int32", ""),
    ("training_sentence_size", 13, "int32", ""),
    ("train_extremely_large_corpus", 49, "bool", "false"),
    ("enable_differential_privacy", 50, "bool", "false"),
    ("differential_privacy_noise_level", 51, "float", "0.0"),
    ("differential_privacy_clipping_threshold", 52, "uint64", "0"),
)
NORMALIZER_SPEC: Fields = (
    ("name", 1, "string", ""),
    ("precompiled_charsmap", 2, "bytes", ""),
    ("add_dummy_prefix", 3, "bool", "true"),
    ("remove_extra_whitespaces", 4, "bool", "true"),
    ("escape_whitespaces", 5, "bool", "true"),
    ("normalization_rule_tsv", 6, "string", ""),
)
MODEL: dict[str, Fields] = {
    "TrainerSpec": TRAINER_SPEC,
    "NormalizerSpec": NORMALIZER_SPEC,
    "ModelProto": (
        ("pieces", 1, "*ModelProto.SentencePiece", ""),
        ("trainer_spec", 2, "TrainerSpec", ""),
        ("normalizer_spec", 3, "NormalizerSpec", ""),
        ("denormalizer_spec", 5, "NormalizerSpec", ""),
    ),
    "ModelProto.SentencePiece": (
        ("piece", 1, "string", ""),
        ("score", 2, "float", ""),
        ("type", 3, "ModelProto.SentencePiece.Type", "NORMAL"),
    ),
}
"""The messages of a .model file."""
TEXT: dict[str, Fields] = {
    "SentencePieceText": (
        ("text", 1, "string", ""),
        ("pieces", 2, "*SentencePieceText.SentencePiece", ""),
        ("score", 3, "float", ""),
    ),
    "SentencePieceText.SentencePiece": (
        ("piece", 1, "string", ""),
        ("id", 2, "uint32", ""),
        ("surface", 3, "string", ""),
        ("begin", 4, "uint32", ""),
        ("end", 5, "uint32", ""),
    ),
    "NBestSentencePieceText": (("nbests", 1, "*SentencePieceText", ""),),
}
"""The messages of a segmented text."""
ENUMS: dict[str, dict[str, int]] = {
    "TrainerSpec.ModelType": {"UNIGRAM": 1, "BPE": 2, "WORD": 3, "CHAR": 4},
    "ModelProto.SentencePiece.Type": {
        **{"NORMAL": 1, "UNKNOWN": 2, "CONTROL": 3},
        **{"USER_DEFINED": 4, "BYTE": 6, "UNUSED": 5},
    },
}
WITHOUT_EXTENSIONS = ("NBestSentencePieceText",)


def make(file: str, messages: dict[str, Fields], module: str) -> dict[str, Any]:
    """Return `DESCRIPTOR` and the classes of the top messages of a file, whose module is `module`.

    ImportError if protobuf is not installed.
    """
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise ImportError(f"{module} needs the package protobuf: pip install protobuf") from error
    described = descriptor_pb2.FileDescriptorProto(name=file, package=PACKAGE, syntax="proto2")
    for name, fields in messages.items():
        _describe(_owner(described, name), name, fields)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(described.SerializeToString())
    made: dict[str, Any] = {"DESCRIPTOR": pool.FindFileByName(file)}
    for name in messages:
        if "." not in name:
            made[name] = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
            made[name].__module__ = module
    return made


def _owner(file: Any, name: str) -> Any:
    """Return a new message of a file, or of the message that its name says."""
    outer, _, own = name.rpartition(".")
    if not outer:
        return file.message_type.add(name=own)
    return next(message for message in file.message_type if message.name == outer).nested_type.add(name=own)


def _describe(message: Any, name: str, fields: Fields) -> None:
    for enum, numbers in ENUMS.items():
        outer, _, own = enum.rpartition(".")
        if outer == name:
            listed = message.enum_type.add(name=own)
            for value, number in numbers.items():
                listed.value.add(name=value, number=number)
    for field, number, type_, default in fields:
        bare = type_.removeprefix("*")
        made = message.field.add(name=field, number=number)
        made.label = made.LABEL_REPEATED if type_ != bare else made.LABEL_OPTIONAL
        kind = "ENUM" if bare in ENUMS else "MESSAGE" if bare[0].isupper() else bare.upper()
        made.type = made.Type.Value(f"TYPE_{kind}")
        if bare[0].isupper():
            made.type_name = f".{PACKAGE}.{bare}"
        if default:
            made.default_value = default
    if name not in WITHOUT_EXTENSIONS:
        message.extension_range.add(start=EXTENSIONS[0], end=EXTENSIONS[1])
