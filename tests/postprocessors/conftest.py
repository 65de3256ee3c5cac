"""Fixtures: tokenizers without special tokens, and equal postprocessors of tokenizers and tokkit."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rival_encodings import ours, plain, vocab_of
from tokkit import Encoding
from tokkit.postprocessors.bert import Bert
from tokkit.postprocessors.byte_level import ByteLevel
from tokkit.postprocessors.layout import Postprocessor
from tokkit.postprocessors.roberta import Roberta
from tokkit.postprocessors.sequence import Sequence
from tokkit.postprocessors.template import SpecialToken, Template

if TYPE_CHECKING:
    import tokenizers

FRAME = ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", {"[CLS]": 101, "[SEP]": 102})
PREFIX = ("[CLS] $A", "[CLS] $A [CLS] $B:1", {"[CLS]": 101})
TURNED = ("$A:3 [SEP]:7", "[CLS]:3 $B:5 [SEP] $A:4", {"[CLS]": 101, "[SEP]": 102})
TWICE = ("$A $A:2 [SEP]", "$B:5 $A:4 $B", {"[SEP]": 102})
WIDE = ("X $0", "X $A X:2 $B:1", [SpecialToken("X", (101, 7, 102), ("[CLS]", "seven", "[SEP]"))])
BARE = ("$A:1", "$A:2 $B:3", {})
ENDS = {"sep": ("[SEP]", 102), "cls": ("[CLS]", 101)}


def template(single: str, pair: str, tokens: object) -> Template:
    return Template.parse(single, pair, tokens)  # type: ignore[arg-type]


OURS: dict[str, Postprocessor] = {
    "none": Sequence(),
    "bert": Bert(**ENDS),
    "roberta": Roberta(**ENDS),
    "roberta without a prefix space": Roberta(**ENDS, add_prefix_space=False),
    "roberta without trimming": Roberta(**ENDS, trim_offsets=False),
    "byte level": ByteLevel(),
    "byte level without a prefix space": ByteLevel(add_prefix_space=False),
    "byte level without trimming": ByteLevel(trim_offsets=False),
    "frame": template(*FRAME),
    "turned": template(*TURNED),
    "twice": template(*TWICE),
    "wide": template(*WIDE),
    "byte level, frame": Sequence((ByteLevel(), template(*FRAME))),
    "bert, prefix": Sequence((Bert(**ENDS), template(*PREFIX))),
    "bert, byte level": Sequence((Bert(**ENDS), ByteLevel())),
    "byte level, roberta": Sequence((ByteLevel(add_prefix_space=False), Roberta(**ENDS))),
    "prefix, byte level": Sequence((template(*PREFIX), ByteLevel())),
    "prefix, bert": Sequence((template(*PREFIX), Bert(**ENDS))),
    "bare, bert": Sequence((template(*BARE), Bert(**ENDS))),
}


def theirs(processor: Postprocessor) -> tokenizers.processors.PostProcessor:
    """What tokenizers has for one of ours."""
    from tokenizers import processors

    if isinstance(processor, Bert):
        return processors.BertProcessing(processor.sep, processor.cls)
    if isinstance(processor, Roberta):
        options = {"trim_offsets": processor.trim_offsets, "add_prefix_space": processor.add_prefix_space}
        return processors.RobertaProcessing(processor.sep, processor.cls, **options)
    if isinstance(processor, ByteLevel):
        return processors.ByteLevel(processor.add_prefix_space, processor.trim_offsets)
    if isinstance(processor, Sequence):
        return processors.Sequence([theirs(one) for one in processor.processors])
    assert isinstance(processor, Template)
    forms = [
        [f"{piece.what if isinstance(piece.what, str) else '$' + 'AB'[piece.what]}:{piece.type_id}" for piece in pieces]
        for pieces in (processor.single, processor.pair)
    ]
    specials = [{"id": t.id, "ids": [*t.ids], "tokens": [*t.tokens]} for t in processor.special_tokens]
    return processors.TemplateProcessing(single=forms[0], pair=forms[1], special_tokens=specials)


class Rival:
    """A tokenizer of tokenizers, to be given postprocessors; the same without any; and its vocabulary as ours."""

    def __init__(self, whole: tokenizers.Tokenizer) -> None:
        self.tokenizer = plain(whole)
        self.bare = plain(whole)
        self.vocab = vocab_of(whole)
        self._seen: dict[str, Encoding] = {}

    def ours(self, text: str) -> Encoding:
        """Our encoding of a text, as no postprocessor has seen it."""
        if text not in self._seen:
            self._seen[text] = ours(self.bare.encode(text), self.vocab, text)
        return self._seen[text]


@cache
def loaded(path: Path) -> Rival:
    tokenizers = pytest.importorskip("tokenizers")
    return Rival(tokenizers.Tokenizer.from_file(str(path)))


@pytest.fixture(params=("bert-base-uncased", "roberta-base"))
def rival(request: pytest.FixtureRequest, shared: Path) -> Rival:
    """One for all tests, without postprocessor, padding and truncation."""
    path = shared / "vocabs" / request.param / "tokenizer.json"
    if not path.is_file():
        pytest.skip(f"needs {path.parent.name}/{path.name} in the folder of TOKKIT_SHARED_DATA")
    found = loaded(path)
    found.tokenizer.post_processor = None
    found.tokenizer.no_truncation()
    found.tokenizer.no_padding()
    return found
