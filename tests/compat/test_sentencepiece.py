"""Each call of sentencepiece's processor, normalizer and trainer gives the same result in the library and in tokkit."""

from __future__ import annotations

import io
import logging
import pickle
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import LONG
from sentencepiece_zoo import NAMES, lines, model, sentencepiece
from strategies import adversarial
from tokkit.compat import sentencepiece as face
from tokkit.files import protobuf
from tokkit.formats.sentencepiece import TRAINER_FIELDS, read_model

TEXTS = ["Hello 🦜🦜 é x", "", " ", "New York ab", "東京は素晴らしい ﬁ", "▁a▁"]
TEXTS += [adversarial(seed, 60).encode("utf-8", "replace").decode() for seed in range(100 if LONG else 3)]
TYPES = (int, str, bytes, "serialized_proto", "numpy", "offset_mapping")
Outcome = Any


def outcome(call: Any, *args: Any, **options: Any) -> Outcome:
    """What a call gives, or the type of its error, arrays as lists."""
    try:
        found = call(*args, **options)
    except Exception as error:
        return type(error)
    plain = [found] if isinstance(found, np.ndarray) else found
    if isinstance(plain, list) and plain and isinstance(plain[0], np.ndarray):
        return [(array.dtype, array.tolist()) for array in plain]
    return type(found), found


class Both:
    """A model in the real processor and in ours."""

    def __init__(self, name: str) -> None:
        self.theirs = sentencepiece.SentencePieceProcessor(model_proto=model(name))
        self.ours = face.SentencePieceProcessor(model_proto=model(name))

    def same(self, name: str, *args: Any, **options: Any) -> None:
        wanted = outcome(getattr(self.theirs, name), *args, **options)
        assert outcome(getattr(self.ours, name), *args, **options) == wanted, (name, args, options)


@pytest.mark.parametrize("name", NAMES)
def test_texts_are_encoded_and_normalized_alike_in_every_form(name: str) -> None:
    both = Both(name)
    for text in TEXTS:
        for given in (text, text.encode(), [text, "a"]):
            for type_ in TYPES:
                both.same("encode", given, out_type=type_)
        both.same("encode", text, out_type=str, add_bos=True, add_eos=True, reverse=True)
        both.same("Encode", text, add_bos=True, emit_unk_piece=True, return_type=str)
        both.same("encode", text, out_type="offset_mapping", return_bytes=True)
        for call in ("encode_as_ids", "EncodeAsPieces", "encode_as_numpy", "EncodeAsOffsetMapping", "Tokenize"):
            both.same(call, text)
        both.same("encode_as_ids", text, add_eos=True)
        both.same("normalize", text)
        both.same("normalize", text, with_offsets=True)
        both.same("Normalize", [text.encode()], with_offsets=True)


@pytest.mark.parametrize("name", NAMES)
def test_ids_and_pieces_are_decoded_alike_in_every_form(name: str) -> None:
    both, rng = Both(name), random.Random(4)
    n = both.theirs.vocab_size()
    for text in TEXTS:
        ids, pieces = both.theirs.encode(text), both.theirs.encode(text, out_type=str)
        for type_ in (None, str, bytes, "serialized_proto", "offset_mapping"):
            for given in (ids, pieces, [ids, ids[:3], []], [[], pieces], np.array(ids, dtype=np.int32)):
                both.same("decode", given, return_type=type_)
        for call, given in (("decode_ids", ids), ("DecodePieces", pieces), ("detokenize", ids)):
            both.same(call, given)
    for _ in range(500 if LONG else 20):
        ids = [rng.randrange(min(n, rng.choice([10, 270, n]))) for _ in range(rng.randrange(8))]
        pieces = [both.theirs.id_to_piece(id_) if rng.random() < 0.8 else "zz▁q" for id_ in ids]
        for type_ in (str, bytes, "serialized_proto", "offset_mapping"):
            both.same("decode", ids, return_type=type_)
            both.same("decode", pieces, return_type=type_)
    for odd in ([99999], [-1], [1.5], [None], None, "▁a", b"a", 5, [[5, 6], ["a"]], [b"a", b"b"]):
        both.same("decode", odd)


@pytest.mark.parametrize("name", ["unigram-symbols", "bpe-bytes", "word-plain", "char-identity"])
def test_look_ups_and_errors_are_alike(name: str) -> None:
    both = Both(name)
    n = both.theirs.vocab_size()
    for call in ("get_piece_size", "vocab_size", "piece_size", "GetPieceSize", "__len__", "serialized_model_proto"):
        both.same(call)
    for call in ("unk_id", "bos_id", "eos_id", "pad_id"):
        both.same(call)
    for id_ in (0, 1, 2, 5, n - 1, n, -1, [0, 1], [n]):
        for call in ("id_to_piece", "get_score", "is_unknown", "is_control", "is_unused", "is_byte", "IsByte"):
            both.same(call, id_)
    for ids in ((0, 1), range(3), np.array([0, 2]), (), (0, n), [[0]], "a"):
        for call in ("id_to_piece", "get_score", "is_control"):
            both.same(call, ids)
    for piece in ("a", "<s>", "zzz", ["a", "▁"], 5, ("a", "▁"), [], ["a", 5], np.array(["a", "▁"])):
        both.same("piece_to_id", piece)
        both.same("__getitem__", piece)
    for odd in (5, None, ("a",), "\ud800", [5]):
        both.same("encode", odd)
    for options in ({"out_type": "x"}, {"num_threads": "x"}, {"return_bytes": True}, {"out_type": "immutable_proto"}):
        both.same("encode", "a", **options)
    both.same("encode", "a", out_type=int, return_type=int)
    both.same("encode", "a", enable_sampling=True, nbest_size=1)
    both.same("parallel_encode", "a b c", chunk_len=2)
    both.same("parallel_encode", "a b c")


def test_a_processor_without_a_model_and_bad_files_give_the_same_errors(tmp_path: Path) -> None:
    both = (sentencepiece.SentencePieceProcessor(), face.SentencePieceProcessor())
    for call, args in (("encode", ("a",)), ("load", ()), ("load", (str(tmp_path / "no"),)), ("bos_id", ()),
                       ("LoadFromSerializedProto", (b"junk",)), ("serialized_model_proto", ()), ("vocab_size", ()),
                       ("load", ("a", b"b")), ("id_to_piece", (0,))):  # fmt: skip
        theirs, ours = (outcome(getattr(one, call), *args) for one in both)
        assert ours == theirs, call
    (tmp_path / "x.model").write_bytes(model("bpe-plain"))
    made = face.SentencePieceProcessor.from_file(str(tmp_path / "x.model"), out_type=str, add_bos=True)
    assert made.encode("a b")[0] == "<s>"
    assert pickle.loads(pickle.dumps(made)).encode("a b") == made.encode("a b")
    assert face.SentencePieceProcessor.from_proto(model("bpe-plain")).encode("a b") == made.encode_as_ids("a b")[1:]


@pytest.mark.parametrize("name", ["unigram-plain", "unigram-bytes", "unigram-symbols", "bpe-plain", "word-plain"])
def test_the_best_are_alike_and_samples_are_as_frequent(name: str) -> None:
    both = Both(name)
    for text in ("Hello", "New York is", "", "東京 🦜x"):
        for n in (1, 3, 10):
            for type_ in (int, str, "serialized_proto"):
                both.same("nbest_encode", text, nbest_size=n, out_type=type_)
    both.same("NBestEncodeAsPieces", "Hello there", nbest_size=4)
    for options in ({"nbest_size": -1, "alpha": 0.3}, {"nbest_size": 4, "alpha": 0.2}):
        if name == "word-plain":
            both.same("sample_encode_as_ids", "New Y", **options)
            continue
        face.set_random_generator_seed(7)
        counts = [Counter(tuple(p.sample_encode_as_ids("New Y", **options)) for _ in range(2000))
                  for p in (both.theirs, both.ours)]  # fmt: skip
        for cut in counts[0] | counts[1]:
            a, b = counts[0][cut], counts[1][cut]
            assert abs(a - b) < 6 * (a + b + 1) ** 0.5, (cut, a, b)


def test_a_seed_gives_the_same_samples_again() -> None:
    ours = face.SentencePieceProcessor(model_proto=model("unigram-plain"))
    drawn = []
    for _ in range(2):
        face.SetRandomGeneratorSeed(3)
        drawn.append([ours.SampleEncodeAsPieces("the house of the sea", -1, 0.1) for _ in range(20)])
    assert drawn[0] == drawn[1]
    assert len({tuple(pieces) for pieces in drawn[0]}) > 1


def test_what_sentencepiece_has_dropped_is_there() -> None:
    ours = face.SentencePieceProcessor(model_proto=model("unigram-plain"))
    assert ours.calculate_entropy("the", alpha=1.0) >= 0
    found = ours.sample_encode_and_score("the sea", num_samples=3, alpha=0.5, wor=True, include_best=True)
    assert len({tuple(ids) for ids, _ in found}) == 3
    assert found[0][0] == ours.encode("the sea")
    whole = ours.encode("the house", out_type=str)
    ours.set_vocabulary(["▁t"])
    assert all(len(piece) == 1 or piece == "▁t" for piece in ours.encode("the house", out_type=str))
    ours.reset_vocabulary()
    assert ours.encode("the house", out_type=str) == whole
    with pytest.raises(RuntimeError, match="Vocabulary constraint"):
        face.SentencePieceProcessor(model_proto=model("word-plain")).set_vocabulary(["a"])


def test_models_without_control_symbols_refuse_to_add_them() -> None:
    out = io.BytesIO()
    flags = {"vocab_size": 1400, "model_type": "bpe", "bos_id": -1, "eos_id": -1, "minloglevel": 3}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines()), model_writer=out, **flags)
    made = [library.SentencePieceProcessor(model_proto=out.getvalue()) for library in (sentencepiece, face)]
    for options in ({"add_bos": True}, {"add_eos": True}, {"add_bos": True, "out_type": str}, {"add_eos": False}):
        found = [outcome(one.encode, "low a", **options) for one in made]
        assert found[0] == found[1]


def test_arrays_cannot_be_written_to() -> None:
    both = Both("bpe-plain")
    for made in (both.theirs, both.ours):
        with pytest.raises(ValueError, match="read-only"):
            made.encode("a b", out_type="numpy")[0] = 5


class Derived(face.SentencePieceProcessor):
    """A processor whose `__init__` wants an argument."""

    def __init__(self, own: str, **options: Any) -> None:
        super().__init__(**options)
        self.own = own


def test_subclasses_and_models_alone_are_unpickled() -> None:
    made = Derived("x", model_proto=model("bpe-plain"), out_type=str, add_eos=True)
    again = pickle.loads(pickle.dumps(made))
    assert (again.own, again.encode("a b")) == ("x", made.encode("a b"))
    bare = face.SentencePieceProcessor.__new__(face.SentencePieceProcessor)
    bare.__setstate__(model("bpe-plain"))
    assert bare.encode("a b") == made.encode("a b", out_type=int, add_eos=False)


def test_settings_of_the_process_are_alike() -> None:
    assert face.__version__ == sentencepiece.__version__
    logger = logging.getLogger("tokkit")
    try:
        for value in (0, 1, 2, 3, 9, -1, True, "a", None, 1.5):
            assert outcome(face.set_min_log_level, value) == outcome(sentencepiece.SetMinLogLevel, value), value
        face.SetMinLogLevel(2)
        assert (logger.isEnabledFor(logging.WARNING), logger.isEnabledFor(logging.ERROR)) == (False, True)
    finally:
        logger.setLevel(logging.NOTSET)
        sentencepiece.SetMinLogLevel(0)
    for value in (8, 1, 0, "a", None):
        found = [
            outcome(lambda lib=lib, value=value: lib.ThreadPool(value).num_threads()) for lib in (sentencepiece, face)
        ]
        assert found[0] == found[1]
    assert face.SentencePieceProcessor(model_proto=model("bpe-plain")).encode(["a"], thread_pool=face.ThreadPool(2))


def test_normalizers_are_alike(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("41\t61\n")
    (tmp_path / "x.model").write_bytes(model("unigram-plain"))
    made: list[dict[str, Any]] = [
        {"rule_name": "nmt_nfkc_cf"}, {"rule_tsv": str(tmp_path / "x.tsv")}, {"norm_map": [("a", "b")]},
        {"model_file": str(tmp_path / "x.model")}, {"model_proto": model("bpe-spaces")},
        {"rule_name": "nfkc", "add_dummy_prefix": False, "escape_whitespaces": False}, {}, {"rule_name": "nope"},
        *({"norm_map": [pair]} for pair in ((b"a", b"b"), (b"\xff", "b"), ("a", ""), ("a", "a"), ("", "b"), ("a", 5))),
        {"norm_map": [("a", "b"), ("a", "c")]},
    ]  # fmt: skip
    for options in made:
        pair = []
        for library in (sentencepiece, face):
            try:
                one = library.SentencePieceNormalizer(**options)
                pair.append([one.normalize(t, with_offsets=True) for t in ("ＡA a  b", "ﬁ")] + [one.normalize(["É"])])
            except Exception as error:
                pair.append([type(error)])
        assert pair[0] == pair[1], options


def test_the_trainer_takes_flags_either_way(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text("\n".join(lines()), encoding="utf-8")
    flags = f"--input={tmp_path / 'corpus.txt'} --vocab_size=1400 --model_type=bpe --user_defined_symbols=foo,bar"
    face.SentencePieceTrainer.train(f"{flags} --model_prefix={tmp_path / 'ours'}")
    sentencepiece.SentencePieceTrainer.train(f"{flags} --model_prefix={tmp_path / 'theirs'} --minloglevel=3")
    assert (tmp_path / "ours.vocab").read_text() == (tmp_path / "theirs.vocab").read_text()
    out = io.BytesIO()
    options = {"vocab_size": 1400, "model_type": "bpe", "user_defined_symbols": ["foo", "bar"]}
    face.SentencePieceTrainer.Train(sentence_iterator=iter(lines()), model_writer=out, **options)
    made = face.SentencePieceProcessor(model_proto=out.getvalue())
    rival = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "theirs.model"))
    assert made.encode(TEXTS) == rival.encode(TEXTS)


def test_the_trainer_does_not_write_over_what_it_reads(tmp_path: Path) -> None:
    text = "\n".join(lines())
    for name in ("corpus.model", "rules.tsv"):
        (tmp_path / name).write_text(text if name == "corpus.model" else "41\t61\n", encoding="utf-8")
    (tmp_path / "linked.vocab").hardlink_to(tmp_path / "corpus.model")
    (tmp_path / "other.vocab").hardlink_to(tmp_path / "rules.tsv")
    for prefix in ("corpus", "linked", "other"):
        flags = {"model_prefix": tmp_path / prefix, "input": str(tmp_path / "corpus.*"), "vocab_size": 1400}
        with pytest.raises(RuntimeError, match=rf"the output .*{prefix}.* and the input .* are the same file"):
            face.SentencePieceTrainer.train(**flags, normalization_rule_tsv=str(tmp_path / "rules.tsv"))
    assert (tmp_path / "corpus.model").read_text(encoding="utf-8") == text
    assert (tmp_path / "rules.tsv").read_text() == "41\t61\n"


@pytest.mark.parametrize("flag", ["add_dummy_prefix", "escape_whitespaces", "normalization_rule_name"])
def test_flags_that_a_normalizer_says_already_are_errors(flag: str) -> None:
    for library in (sentencepiece, face):
        normalizer = library.SentencePieceNormalizer(norm_map=[("a", "b")])
        options = {"vocab_size": 1400, "normalizer": normalizer, "model_writer": io.BytesIO(), "minloglevel": 3}
        with pytest.raises(ValueError, match=flag):
            library.SentencePieceTrainer.train(sentence_iterator=iter(lines()), **options, **{flag: "true"})


@pytest.mark.parametrize(
    "options",
    [{"nope": 1}, {"vocab_size": "x"}, {"hard_vocab_limit": "maybe"}, {"vocab_size": 2}, {"model_type": "x"}, {}],
)
def test_flags_that_cannot_be_give_the_errors_of_sentencepiece(options: dict[str, Any]) -> None:
    found = []
    for library in (sentencepiece, face):
        options = {"minloglevel": 3, "vocab_size": 50, **options}
        found.append(outcome(library.SentencePieceTrainer.train, sentence_iterator=iter(["a b"]), **options))
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["bpe", "word", "char"])
def test_flags_of_the_unigram_model_stand_in_the_files_of_others(kind: str) -> None:
    found = []
    flags = {"shrinking_factor": 0.5, "num_sub_iterations": 3, "seed_sentencepiece_size": 5000}
    more = {"input_sentence_size": 9999, "shuffle_input_sentence": False}
    for library in (sentencepiece, face):
        out = io.BytesIO()
        library.SentencePieceTrainer.train(
            sentence_iterator=iter(lines()), model_writer=out, model_type=kind, vocab_size=1400, minloglevel=3,
            hard_vocab_limit=False, train_extremely_large_corpus=True, **flags, **more,
        )  # fmt: skip
        spec = protobuf.values(read_model(out.getvalue()).trainer_spec, TRAINER_FIELDS, "trainer_spec")
        found.append({name: spec[name] for name in (*flags, *more)})
    assert found[0] == found[1]


def test_the_best_segmentation_is_returned_alone_after_the_time_for_more(caplog: pytest.LogCaptureFixture) -> None:
    ours = face.SentencePieceProcessor()
    ours.LoadFromSerializedProto(model("unigram-plain"))
    text = adversarial(17, 2000).encode("utf-8", "replace").decode()
    best, *others = ours.nbest_encode(text, nbest_size=5, out_type=int)
    assert len(others) == 4
    try:
        face.set_nbest_timeout(1)
        assert ours.nbest_encode(text, nbest_size=500, out_type=int) == [best]
        assert "took more than 0.001 s" in caplog.text
        face.SetNBestTimeout(0)
        assert len(ours.nbest_encode(text, nbest_size=10, out_type=int)) == 10
    finally:
        face.SetNBestTimeout(30_000)
    with pytest.raises(TypeError):
        face.set_nbest_timeout("1")  # type: ignore[arg-type]
