"""Rows of sentencepiece: calls of SentencePieceProcessor."""

from __future__ import annotations

import importlib
import io
import pickle
from functools import cached_property
from pathlib import Path
from typing import Any

from benchmarks.calls.equal import by_distribution, difference, nothing
from benchmarks.calls.rows import Row, Side, Texts

ENCODE, PIECES, DECODE, LOOKUP, SAMPLE = 6.0, 4.0, 4.0, 3.0, 2.0


WORD = "internationalisation"
"""What is sampled to compare distributions."""
ANY: dict[str, Any] = {"enable_sampling": True, "alpha": 0.1, "nbest_size": -1}


class SentencePieceSide(Side):
    """sentencepiece, or tokkit.compat.sentencepiece, with one .model file."""

    def __init__(self, ours: bool, texts: Texts, path: Path) -> None:
        super().__init__(ours, texts)
        self.path = str(path)
        self.lib = importlib.import_module("tokkit.compat.sentencepiece" if ours else "sentencepiece")

    @cached_property
    def sp(self) -> Any:
        """A processor that no row changes."""
        return self.lib.SentencePieceProcessor(model_file=self.path)

    @cached_property
    def normalizer(self) -> Any:
        """A normalizer by itself."""
        return self.lib.SentencePieceNormalizer(rule_name="nmt_nfkc")

    @cached_property
    def texts_file(self) -> str:
        """A file of the sentences, to train on."""
        path = self.folder / "texts.txt"
        path.write_text("\n".join(self.texts.sentences), encoding="utf-8")
        return str(path)


class Given:
    """What both sides get: texts, their ids and pieces by the original."""

    def __init__(self, side: SentencePieceSide) -> None:
        self.sentences, self.documents, self.sentence = side.texts.sentences, side.texts.documents, side.texts.sentence
        self.document = self.documents[0] * 5
        self.lists = side.sp.encode(self.sentences)
        self.pieces = side.sp.encode(self.sentences, out_type=str)
        self.few, self.few_lists = self.sentences[:100], self.lists[:100]
        self.proto = Path(side.path).read_bytes()


def scores(side: SentencePieceSide, candidates: list[list[int]]) -> list[float]:
    """Return the scores of candidates: those of one score come in any order."""
    return [sum(side.sp.get_score(ids)) for ids in candidates]


def same_scores(ours: SentencePieceSide, theirs: SentencePieceSide) -> str:
    """Compare the scores of the five best segmentations of some sentences."""
    texts = ours.texts.sentences[:100]
    return difference(*([scores(side, side.sp.nbest_encode_as_ids(x, 5)) for x in texts] for side in (ours, theirs)))


def pieces_of(side_model: tuple[Any, bytes]) -> dict[str, float]:
    """Return the pieces of a model with their scores; the file also holds the paths of its training."""
    lib, model = side_model
    sp = lib.SentencePieceProcessor(model_proto=model)
    return {sp.id_to_piece(i): sp.get_score(i) for i in range(len(sp))}


def sampled(name: str, draw: Any, call: Any, per: str = "few") -> Row:
    """Return a row of sampling: results are compared by the distribution of segmentations of one word."""
    return Row(name, call, same=by_distribution(draw), per=per, floor=SAMPLE)


def train(side: SentencePieceSide, kind: str) -> tuple[Any, bytes]:
    """Train a model of 500 pieces on the sentences; return the library and the file."""
    model = io.BytesIO()
    side.lib.SentencePieceTrainer.train(
        input=side.texts_file, model_writer=model, vocab_size=500, model_type=kind, num_threads=1, minloglevel=2
    )
    return side.lib, model.getvalue()


ENCODING = (
    Row("encode sentences", lambda s, g: s.sp.encode(g.sentences), floor=ENCODE),
    Row("encode documents", lambda s, g: s.sp.encode(g.documents), floor=ENCODE),
    Row("encode one by one", lambda s, g: [s.sp.encode(x) for x in g.sentences], per="sentences", floor=ENCODE),
    Row("encode a sentence", lambda s, g: s.sp.encode(g.sentence), floor=ENCODE),
    Row("encode with eos", lambda s, g: s.sp.encode(g.sentences, add_eos=True), floor=ENCODE),
    Row("encode reversed", lambda s, g: s.sp.encode(g.sentences, reverse=True)),
    Row("encode as pieces", lambda s, g: s.sp.encode(g.sentences, out_type=str), floor=PIECES),
    Row(
        "encode one by one as pieces",
        lambda s, g: [s.sp.encode(x, out_type=str) for x in g.sentences],
        per="sentences",
        floor=PIECES,
    ),
    Row("encode as numpy", lambda s, g: s.sp.encode(g.sentences, out_type="numpy")),
    Row("encode as offset_mapping", lambda s, g: s.sp.encode(g.sentences, out_type="offset_mapping")),
    Row("encode as serialized_proto", lambda s, g: s.sp.encode(g.few, out_type="serialized_proto"), per="few"),
    Row("encode as proto", lambda s, g: s.sp.encode(g.few, return_type="proto"), same=nothing, per="few"),
    Row("encode_as_ids", lambda s, g: s.sp.encode_as_ids(g.sentence)),
    Row("encode_as_pieces", lambda s, g: s.sp.encode_as_pieces(g.sentence)),
    Row("encode_as_numpy", lambda s, g: s.sp.encode_as_numpy(g.sentence)),
    Row("encode_as_proto", lambda s, g: s.sp.encode_as_proto(g.sentence), same=nothing),
    Row("encode_as_offset_mapping", lambda s, g: s.sp.encode_as_offset_mapping(g.sentence)),
    Row("tokenize", lambda s, g: s.sp.tokenize(g.sentence)),
    Row("parallel_encode", lambda s, g: s.sp.parallel_encode(g.document, chunk_len=1000, num_threads=1)),
    Row("parallel_encode_as_ids", lambda s, g: s.sp.parallel_encode_as_ids(g.document, chunk_len=1000, num_threads=1)),
    Row(
        "parallel_encode_as_pieces",
        lambda s, g: s.sp.parallel_encode_as_pieces(g.document, chunk_len=1000, num_threads=1),
    ),
    Row(
        "parallel_encode_as_numpy",
        lambda s, g: s.sp.parallel_encode_as_numpy(g.document, chunk_len=1000, num_threads=1),
    ),
    Row(
        "parallel_encode_as_proto",
        lambda s, g: s.sp.parallel_encode_as_proto(g.document, chunk_len=1000, num_threads=1),
        same=nothing,
    ),
    Row(
        "normalize with offsets",
        lambda s, g: [s.sp.normalize(x, with_offsets=True) for x in g.sentences],
        per="sentences",
    ),
    Row("normalize", lambda s, g: [s.sp.normalize(x) for x in g.sentences], per="sentences"),
    sampled("encode, sampled", lambda s: s.sp.encode(WORD, **ANY), lambda s, g: [s.sp.encode(x, **ANY) for x in g.few]),
    sampled(
        "encode, sampled, as pieces",
        lambda s: s.sp.encode(WORD, out_type=str, **ANY),
        lambda s, g: [s.sp.encode(x, out_type=str, **ANY) for x in g.few],
    ),
)

UNIGRAM = (
    Row(
        "nbest_encode_as_ids",
        lambda s, g: [s.sp.nbest_encode_as_ids(x, 5) for x in g.few],
        same=same_scores,
        per="few",
        floor=SAMPLE,
    ),
    Row(
        "nbest_encode_as_pieces",
        lambda s, g: [s.sp.nbest_encode_as_pieces(x, 5) for x in g.few],
        same=same_scores,
        per="few",
        floor=SAMPLE,
    ),
    Row(
        "nbest_encode_as_numpy",
        lambda s, g: [s.sp.nbest_encode_as_numpy(x, 5) for x in g.few],
        same=same_scores,
        per="few",
        floor=SAMPLE,
    ),
    Row(
        "nbest_encode_as_proto",
        lambda s, g: [s.sp.nbest_encode_as_proto(x, 5) for x in g.few],
        same=same_scores,
        per="few",
        floor=SAMPLE,
    ),
    Row(
        "nbest_encode of a batch",
        lambda s, g: s.sp.nbest_encode(g.few, nbest_size=5),
        same=same_scores,
        per="few",
        floor=SAMPLE,
    ),
    sampled(
        "sample_encode_as_pieces of the 5 best",
        lambda s: s.sp.sample_encode_as_pieces(WORD, 5, 0.5),
        lambda s, g: [s.sp.sample_encode_as_pieces(x, 5, 0.5) for x in g.few],
    ),
    sampled(
        "sample_encode_as_numpy of the 5 best",
        lambda s: s.sp.sample_encode_as_numpy(WORD, 5, 0.5),
        lambda s, g: [s.sp.sample_encode_as_numpy(x, 5, 0.5) for x in g.few],
    ),
    sampled(
        "sample_encode_as_proto of the 5 best",
        lambda s: s.sp.sample_encode_as_ids(WORD, 5, 0.5),
        lambda s, g: [s.sp.sample_encode_as_proto(x, 5, 0.5) for x in g.few],
    ),
    sampled(
        "sample_encode_as_ids of the 5 best",
        lambda s: s.sp.sample_encode_as_ids(WORD, 5, 0.5),
        lambda s, g: [s.sp.sample_encode_as_ids(x, 5, 0.5) for x in g.few],
    ),
)

DECODING = (
    Row("decode a batch", lambda s, g: s.sp.decode(g.lists), floor=DECODE),
    Row("decode one by one", lambda s, g: [s.sp.decode(ids) for ids in g.lists], per="lists", floor=DECODE),
    Row("decode pieces", lambda s, g: s.sp.decode(g.pieces), floor=DECODE),
    Row("detokenize", lambda s, g: s.sp.detokenize(g.lists), floor=DECODE),
    Row("decode_pieces_as_proto", lambda s, g: s.sp.decode_pieces_as_proto(g.pieces[0]), same=nothing),
    Row("decode_ids", lambda s, g: s.sp.decode_ids(g.lists[0])),
    Row("decode_pieces", lambda s, g: s.sp.decode_pieces(g.pieces[0])),
    Row("decode as serialized_proto", lambda s, g: s.sp.decode(g.few_lists, out_type="serialized_proto"), per="few"),
    Row("decode_ids_as_proto", lambda s, g: s.sp.decode_ids_as_proto(g.lists[0]), same=nothing),
    Row("id_to_piece of lists", lambda s, g: [s.sp.id_to_piece(ids) for ids in g.lists], per="lists", floor=LOOKUP),
    Row("id_to_piece", lambda s, g: s.sp.id_to_piece(100)),
    Row(
        "piece_to_id of lists",
        lambda s, g: [s.sp.piece_to_id(pieces) for pieces in g.pieces],
        per="pieces",
        floor=LOOKUP,
    ),
    Row("piece_to_id", lambda s, g: s.sp.piece_to_id("\u2581the")),
    Row("get_score of lists", lambda s, g: [s.sp.get_score(ids) for ids in g.lists], per="lists"),
    *(
        Row(f"{name} of lists", lambda s, g, name=name: [getattr(s.sp, name)(ids) for ids in g.lists], per="lists")
        for name in ("is_byte", "is_control", "is_unknown", "is_unused")
    ),
    *(
        Row(name, lambda s, g, name=name: getattr(s.sp, name)())
        for name in ("get_piece_size", "piece_size", "vocab_size", "bos_id", "eos_id", "pad_id", "unk_id")
    ),
)

FILES = (
    Row("load model_file", lambda s, g: s.lib.SentencePieceProcessor(model_file=s.path), read=len),
    Row("load model_proto", lambda s, g: s.lib.SentencePieceProcessor(model_proto=g.proto), read=len),
    Row("from_file", lambda s, g: s.lib.SentencePieceProcessor.from_file(s.path), read=len),
    Row("from_proto", lambda s, g: s.lib.SentencePieceProcessor.from_proto(g.proto), read=len),
    Row("load_from_file", lambda s, g: s.lib.SentencePieceProcessor().load_from_file(s.path)),
    Row("load_from_serialized_proto", lambda s, g: s.lib.SentencePieceProcessor().load_from_serialized_proto(g.proto)),
    Row("load, then the first ids", lambda s, g: s.lib.SentencePieceProcessor(model_file=s.path).encode(g.sentence)),
    Row("serialized_model_proto", lambda s, g: s.sp.serialized_model_proto()),
    Row("pickle there and back", lambda s, g: pickle.loads(pickle.dumps(s.sp)), read=len),
    Row("SentencePieceNormalizer.decompile", lambda s, g: s.normalizer.decompile(), same=nothing, once=True),
    Row(
        "SentencePieceNormalizer.serialized_normalizer_spec",
        lambda s, g: s.normalizer.serialized_normalizer_spec,
        same=nothing,
        once=True,
    ),
    Row("SentencePieceNormalizer.normalize", lambda s, g: s.normalizer.normalize(g.document), once=True),
    Row(
        "SentencePieceNormalizer of a rule",
        lambda s, g: s.lib.SentencePieceNormalizer(rule_name="nmt_nfkc"),
        same=nothing,
        once=True,
    ),
    Row("train unigram, 500 pieces", lambda s, g: train(s, "unigram"), once=True, read=lambda m: len(pieces_of(m))),
    Row("train bpe, 500 pieces", lambda s, g: train(s, "bpe"), once=True, read=pieces_of),
)

ROWS = (*ENCODING, *UNIGRAM, *DECODING, *FILES)
