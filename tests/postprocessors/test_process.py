"""Encodings of texts and pairs with special tokens equal those of tokenizers, truncated and padded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from conftest import LONG
from rival_encodings import looked_up, ours, said
from strategies import documents
from tokkit import Encoding, OptionError, Vocab
from tokkit.encoding.encoding import replaced
from tokkit.encoding.length_rules import Padding, Truncation
from tokkit.postprocessors import lengths
from tokkit.postprocessors.bert import Bert
from tokkit.postprocessors.byte_level import ByteLevel
from tokkit.postprocessors.layout import Postprocessor
from tokkit.postprocessors.plain import Plain
from tokkit.postprocessors.roberta import Roberta
from tokkit.postprocessors.sequence import Sequence
from tokkit.postprocessors.template import Template
from tokkit.postprocessors.trimming import SPACE, WHITE_SPACE, Spaces

from .conftest import OURS, Rival, loaded, theirs

if TYPE_CHECKING:
    import tokenizers

TEXTS = ("Hello there, world", "", " It's  a naïve 🦜 ", "日本 x", *documents(7, 6, longest=40))
PAIRS = [(text, None) for text in TEXTS] + [(a, b) for a in TEXTS[:5] for b in TEXTS[1:6]]
CUTS = (
    Truncation(max_length=9),
    Truncation(max_length=7, stride=1, direction="left"),
    Truncation(max_length=12, strategy="only_first", stride=2),
    Truncation(max_length=12, strategy="only_second", direction="left"),
    Truncation(max_length=6),
    Truncation(max_length=500, stride=3),
)


def set_up(rival: Rival, cut: Truncation | None, padding: Padding | None) -> None:
    made = rival.tokenizer
    made.no_truncation()
    made.no_padding()
    if cut is not None:
        made.enable_truncation(cut.max_length, stride=cut.stride, strategy=cut.strategy, direction=cut.direction)
    if padding is not None:
        made.enable_padding(
            direction=padding.direction,
            pad_id=padding.pad_id,
            pad_type_id=padding.pad_type_id,
            pad_token=padding.pad_token,
            length=padding.length,
            pad_to_multiple_of=padding.pad_to_multiple_of,
        )


def wanted(rival: Rival, pair: tuple[str, str | None], add_special: bool) -> tokenizers.Encoding | None:
    """What tokenizers makes of a text or a pair; None where it fails or its Rust code stops."""
    try:
        return rival.tokenizer.encode(*pair, add_special_tokens=add_special)
    except BaseException as error:
        if type(error).__name__ not in ("PanicException", "Exception"):
            raise
        return None


@pytest.mark.parametrize("name", OURS)
def test_every_processor_does_what_tokenizers_does(rival: Rival, name: str) -> None:
    mine, spaces = OURS[name], Spaces.of(rival.vocab)
    rival.tokenizer.post_processor = theirs(mine)
    assert [mine.n_added(), mine.n_added(pair=True)] == [
        rival.tokenizer.num_special_tokens_to_add(pair) for pair in (False, True)
    ]
    for first, second in PAIRS if LONG else PAIRS[::2]:
        encodings = [rival.ours(text) for text in (first, second) if text is not None]
        for add_special in (True, False):
            made = mine.process(*encodings, add_special=add_special)
            theirs_ = wanted(rival, (first, second), add_special)
            assert said(made) == said(theirs_), (first, second, add_special)
            if "byte level" not in name and "twice" not in name:
                assert looked_up(made, 20) == looked_up(theirs_, 20), (first, second)
            assert mine.process(*encodings, add_special=add_special, spaces=spaces) == made


@pytest.mark.parametrize("name", OURS)
def test_cut_and_padded_encodings_are_those_of_tokenizers(rival: Rival, name: str) -> None:
    mine = OURS[name]
    rival.tokenizer.post_processor = theirs(mine)
    padding = Padding(length=10, direction="left", pad_id=3, pad_type_id=9, pad_token="<pad>", pad_to_multiple_of=8)
    compared = 0
    for pair in PAIRS if LONG else PAIRS[::5]:
        encodings = [rival.ours(text) for text in pair if text is not None]
        for cut in CUTS:
            for add_special in (True, False):
                set_up(rival, cut, None)
                theirs_ = wanted(rival, pair, add_special)
                if theirs_ is None:
                    with pytest.raises(OptionError, match=r"truncation (is of|to)|stride"):
                        mine.process(*encodings, add_special=add_special, truncation=cut)
                    continue
                made = mine.process(*encodings, add_special=add_special, truncation=cut)
                assert said(made) == said(theirs_), (pair, cut, add_special)
                set_up(rival, cut, padding)
                assert said(lengths.pad([made], padding)[0]) == said(wanted(rival, pair, add_special))
                compared += 1
    assert compared > 30


def test_a_tokenizer_without_postprocessor_joins_pairs_alike(rival: Rival) -> None:
    assert rival.tokenizer.post_processor is None
    for pair in PAIRS:
        encodings = [rival.ours(text) for text in pair if text is not None]
        for cut, padding in (
            (None, None),
            (None, Padding(length=12, direction="left")),
            *((cut, None) for cut in CUTS),
        ):
            set_up(rival, cut, padding)
            theirs_ = wanted(rival, pair, True)
            if theirs_ is None:
                continue
            made = Plain().process(*encodings, truncation=cut)
            made = made if padding is None else lengths.pad([made], padding)[0]
            assert said(made) == said(theirs_)
            assert looked_up(made, 20) == looked_up(theirs_, 20)


@pytest.mark.parametrize("name", ["bert-base-uncased", "roberta-base", "bert-base-multilingual-cased", "phi-2", "gpt2"])
def test_files_processors_run_as_they_do_in_tokenizers(shared: Path, name: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = shared / "vocabs" / name / "tokenizer.json"
    if not path.is_file():
        pytest.skip(f"needs {name}/{path.name} in the folder of TOKKIT_SHARED_DATA")
    whole = tokenizers.Tokenizer.from_file(str(path))
    whole.no_padding()
    whole.no_truncation()
    data = json.loads(whole.to_str())["post_processor"]
    fields = {key: value for key, value in data.items() if key not in ("type", "single", "pair", "special_tokens")}
    mine: Postprocessor
    if data["type"] == "TemplateProcessing":
        mine = OURS["frame"]
    else:
        mine = {"RobertaProcessing": Roberta, "ByteLevel": ByteLevel}[data["type"]](**fields)
    rival = loaded(path)
    for first, second in PAIRS:
        encodings = [rival.ours(text) for text in (first, second) if text is not None]
        assert said(mine.process(*encodings)) == said(whole.encode(first, second))


def spaced(text: str, rival: tokenizers.Tokenizer, vocab: Vocab) -> Encoding:
    return ours(rival.encode(text), vocab, text)


@pytest.mark.parametrize("add_prefix_space", [True, False])
@pytest.mark.parametrize("times", [1, 2])
def test_trimming_takes_off_the_spaces_that_tokenizers_does(add_prefix_space: bool, times: int) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    words = ["Ġ", "ĠĠ", "Ġa", "ĠĠa", "aĠ", "aĠĠ", "ĠaĠ", "ĠĠĠ", "b", "ĠĠaaĠĠ", "aĠa", "ĠĠbb\u200bĠ", "Ġ\x1c"]
    vocab = Vocab.from_list([word.encode() for word in words])
    rival = tokenizers.Tokenizer(tokenizers.models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="b"))
    rival.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    mine = Sequence((ByteLevel(add_prefix_space=add_prefix_space),) * times)
    rng = np.random.default_rng(1)
    for _ in range(200):
        text = "".join(str(rng.choice([" ", "", "  "])) + words[i] + " " for i in rng.integers(0, len(words), 5))
        rival.post_processor = None
        encoding = spaced(text, rival, vocab)
        rival.post_processor = theirs(mine)
        assert mine.process(encoding).offsets == rival.encode(text).offsets, repr(text)
        assert mine.process(encoding, spaces=Spaces.of(vocab)).offsets == rival.encode(text).offsets


def test_spaces_are_counted_as_stripping_tokens_counts_them() -> None:
    rng = np.random.default_rng(2)
    pool = [*(SPACE * 3), *WHITE_SPACE, "a", "中", "\x1c", "\u200b"]
    words = ["".join(rng.choice(pool, rng.integers(0, 6))) for _ in range(500)]
    spaces = Spaces.of(Vocab.from_list([word.encode() for word in words]))
    found = [(len(w) - len(w.lstrip(SPACE + WHITE_SPACE)), len(w) - len(w.rstrip(SPACE + WHITE_SPACE))) for w in words]
    assert list(zip(spaces.leading.tolist(), spaces.trailing.tolist(), strict=True)) == found
    data = [word.replace(SPACE, " ").encode() for word in words]
    of_bytes = Spaces.of_bytes(Vocab.from_list(data))
    assert of_bytes.leading.tolist() == [len(d) - len(d.lstrip(b" ")) for d in data]
    assert of_bytes.trailing.tolist() == [len(d) - len(d.rstrip(b" ")) for d in data]


def test_bytes_are_not_taken_for_byte_symbols() -> None:
    vocab = Vocab.from_list([b"\xe4\xb8", b"\xad "])
    encoding = Encoding(np.array([0, 1], dtype=np.uint32), np.array([[0, 2], [2, 4]]), None, vocab, "中 ")
    with pytest.raises(OptionError, match="not byte symbols"):
        _ = ByteLevel().process(encoding).offsets
    assert ByteLevel().process(encoding, spaces=Spaces.of_bytes(vocab)).offsets == [(0, 1), (0, 1)]
    assert ByteLevel().process(encoding, spaces=Spaces.of_bytes(vocab)).byte_offsets == [(0, 2), (2, 4)]


def letters(n: int) -> Encoding:
    spans = np.stack([np.arange(n), np.arange(n) + 1], axis=1)
    return Encoding(np.zeros(n, dtype=np.uint32), spans, None, Vocab.from_list([b"a"]), "a" * n)


def test_lengths_after_truncation_are_those_of_tokenizers(rival: Rival) -> None:
    made = rival.tokenizer
    for strategy in ("longest_first", "only_first", "only_second"):
        for most in range(1, 14):
            cut = Truncation(max_length=most, strategy=strategy)
            set_up(rival, cut, None)
            for a in range(0, 9):
                for b in range(0, 9):
                    pair = " ".join(["a"] * a), " ".join(["b"] * b)
                    theirs_ = wanted(rival, pair, False)
                    if theirs_ is None:
                        with pytest.raises(OptionError, match=rf"truncation to {most} tokens .* must cut \d+ off"):
                            lengths.truncate([letters(a), letters(b)], cut)
                        continue
                    kept = [len(encoding) for encoding in lengths.truncate([letters(a), letters(b)], cut)]
                    assert kept == [theirs_.sequence_ids.count(0), theirs_.sequence_ids.count(1)], (cut, a, b)
    assert made.truncation["max_length"] == 13


def test_too_little_room_is_an_error_that_says_both_numbers() -> None:
    bert = OURS["bert"]
    with pytest.raises(OptionError, match="max_length is 1; it must be at least 2"):
        bert.process(letters(5), truncation=Truncation(max_length=1))
    with pytest.raises(OptionError, match="max_length is 2; it must be at least 3"):
        bert.process(letters(0), letters(0), truncation=Truncation(max_length=2))
    assert bert.process(letters(5), truncation=Truncation(max_length=2)).tokens == ["[CLS]", "[SEP]"]
    with pytest.raises(OptionError, match="stride is 3; it must be less than the 3 tokens that remain of 5"):
        bert.process(letters(5), truncation=Truncation(max_length=5, stride=3))
    with pytest.raises(OptionError, match=r"second text, but there is only one text, of 5 tokens, with room for 2"):
        bert.process(letters(5), truncation=Truncation(max_length=4, strategy="only_second"))
    with pytest.raises(OptionError, match=r"truncation to 4 tokens \(3 of them special\) must cut 9 off the first"):
        bert.process(letters(5), letters(5), truncation=Truncation(max_length=4, strategy="only_first"))


def test_batches_of_encodings_are_padded_as_tokenizers_pads_them(rival: Rival) -> None:
    rival.tokenizer.post_processor = theirs(OURS["bert"])
    texts = [*TEXTS]
    encodings = [OURS["bert"].process(rival.ours(text)) for text in texts]
    for padding in (
        Padding(),
        Padding(direction="left", pad_id=5, pad_type_id=2, pad_token="é"),
        Padding(pad_to_multiple_of=8),
        Padding(length=20, pad_to_multiple_of=6),
        Padding(length=4, pad_to_multiple_of=0),
    ):
        set_up(rival, None, padding)
        made = lengths.pad(encodings, padding)
        assert [said(encoding) for encoding in made] == [said(e) for e in rival.tokenizer.encode_batch(texts)]
    assert lengths.pad([], Padding()) == []


def test_a_template_that_would_drop_a_text_is_refused_where_it_would() -> None:
    only = Template.parse("$A", "$A", {})
    assert only.process(letters(3)).ids == [0, 0, 0]
    with pytest.raises(OptionError, match="would drop the second text of 2"):
        only.process(letters(3), letters(2))
    with pytest.raises(OptionError, match="place for a second"):
        Template.parse("$A $B").process(letters(3))
    with pytest.raises(OptionError, match="would drop the only text of 1"):
        Template.parse("[CLS]", special_tokens={"[CLS]": 1}).process(letters(3))
    with pytest.raises(OptionError, match="the postprocessors before it leave 4 parts; it must get one text or two"):
        Sequence((Template.parse("[CLS] $A", "[CLS] $A [CLS] $B", {"[CLS]": 1}), OURS["frame"])).layout(pair=True)


@pytest.mark.parametrize(
    ("form", "piece"),
    [
        *(("$A", (0, 0)), ("$", (0, 0)), ("$a", (0, 0)), ("$b", (1, 0)), ("$B:3", (1, 3)), ("$7", (0, 7))),
        *(("$0:1", (0, 1)), ("$:4", (0, 4)), ("$A:01", (0, 1)), ("$+1", (0, 1)), ("$4294967295", (0, 4294967295))),
        *(("[CLS]", ("[CLS]", 0)), ("[CLS]:2", ("[CLS]", 2)), ("a b", ("a b", 0))),
        *((bad, None) for bad in ("$C", "$A:x", "$A:", "a:b", "[CLS]:2:3", "$-1", "$4294967296", "[CLS]:-1", "$A ")),
        *((bad, None) for bad in ("[CLS]:4294967296", "$²", "$A:١", "$A: 1")),
    ],
)
def test_pieces_are_read_as_tokenizers_reads_them(form: str, piece: tuple[str | int, int] | None) -> None:
    processors = pytest.importorskip("tokenizers").processors
    tokens = {"[CLS]": 1, "a b": 2}
    if piece is None:
        with pytest.raises(ValueError, match="Cannot build Piece"):
            processors.TemplateProcessing(single=[form], special_tokens=[*tokens.items()])
        with pytest.raises(OptionError, match="is not valid"):
            Template.parse([form], special_tokens=tokens)
        return
    made = Template.parse([form], special_tokens=tokens).single[0]
    assert (made.what, made.type_id) == piece
    state = processors.TemplateProcessing(single=[form], special_tokens=[*tokens.items()]).__getstate__()
    ((kind, fields),) = json.loads(state)["single"][0].items()
    assert (fields["id"] if kind == "SpecialToken" else "AB".index(fields["id"]), fields["type_id"]) == piece


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bert(sep=("[SEP]", -1), cls=("[CLS]", 1)), "Bert: sep is"),
        (lambda: Bert(sep=("[SEP]", 1), cls="[CLS]"), "Bert: cls is '.CLS.'"),
        (lambda: Roberta(sep=("[SEP]", 1), cls=("[CLS]", True)), "Roberta: cls is"),
        (lambda: Roberta(sep=("[SEP]", 1), cls=("\ud800", 2)), "Roberta: cls is"),
        (lambda: Roberta(sep=("[SEP]", 1), cls=("a", 2), trim_offsets=1), "trim_offsets is 1"),
        (lambda: ByteLevel(add_prefix_space="no"), "add_prefix_space is 'no'"),
        (lambda: Sequence((1,)), "Sequence: processors is"),
        (lambda: Template(single=("$A",)), "Template: single is"),
        (lambda: Template.parse("[X] $A"), r"Template: '\[X\]' is not among its special tokens"),
        (lambda: Template.parse("$A", special_tokens={"[X]": 1 << 40}), "special token '.X.' is"),
        (lambda: Template.parse(""), "'' is not among its special tokens"),
        (lambda: Truncation(max_length=-1), "max_length is -1"),
        (lambda: Truncation(max_length=True), "max_length is True"),
        (lambda: Truncation(max_length=4, stride=4), "stride is 4; it must be less than max_length, 4"),
        (lambda: Truncation(max_length=4, strategy="LongestFirst"), "strategy is 'LongestFirst'"),
        (lambda: Truncation(max_length=4, direction="up"), "direction is 'up'"),
        (lambda: Padding(length=-1), "length is -1"),
        (lambda: Padding(pad_to_multiple_of=1.5), "pad_to_multiple_of is 1.5"),
        (lambda: Padding(pad_id=-1), "pad_id is -1"),
        (lambda: Padding(pad_type_id=1 << 32), "pad_type_id is 4294967296"),
        (lambda: Padding(pad_token=b"x"), "pad_token is b'x'"),
    ],
)
def test_fields_that_cannot_work_are_errors(make: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        make()  # type: ignore[operator]


def test_what_a_tokenizer_gave_stays_as_it_was() -> None:
    first = replaced(letters(6), ranges={})
    before = said(first)
    for processor in OURS.values():
        processor.process(first, letters(3), truncation=Truncation(max_length=8)).pad(20)
    assert said(first) == before
