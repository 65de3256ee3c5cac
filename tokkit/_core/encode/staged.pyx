"""`Stages` runs components in C on a text; with a model and a cut rule they make an encoder of texts."""

from libc.stdint cimport uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from tokkit._core.align cimport AlignedText, check_stage
from tokkit._core.charsmap cimport Charsmap
from tokkit._core.encode.models cimport PieceEncoder
from tokkit._core.encode.plan cimport (
    Encoder, rule_of, tk_cut_rule, tk_cut_rule_finish, tk_cut_units_by, tk_plan_cut, tk_plan_staged, tk_stage,
    tk_stages_run,
)
from tokkit._core.split cimport checked_behavior, split_of
from tokkit._core.text cimport isa_number

import numpy as np

from tokkit._core.text import to_utf8

cdef extern from "text/normalize.h" nogil:
    int TK_QUICK_NFC, TK_QUICK_NFD, TK_QUICK_NFKC, TK_QUICK_NFKD

cdef extern from "split/pretokenize.h" nogil:
    int TK_PREPEND_FIRST

cdef extern from "text/char_kinds.h" nogil:
    int TK_WORD, TK_WHITE, TK_PUNCTUATION, TK_NUMBER
    unsigned tk_kinds_at(const unsigned char *p, unsigned *length)

FORMS = {"NFC": TK_QUICK_NFC, "NFD": TK_QUICK_NFD, "NFKC": TK_QUICK_NFKC, "NFKD": TK_QUICK_NFKD}
CHARACTER_KINDS = {"word": TK_WORD, "white": TK_WHITE, "punctuation": TK_PUNCTUATION, "number": TK_NUMBER}
KINDS = (
    "form", "lowercase", "strip_accents", "nmt", "byte_level", "bert", "prepend", "strip", "replace",
    "replace_pattern", "charsmap", "split_pattern", "split_kind", "split_character", "split_words", "split_bert",
    "split_scripts", "split_fixed", "prefix_space", "byte_symbols", "metaspace",
)
"""In the order of their numbers in csrc/encode/stages.h."""


def kinds_of(str character) -> set:
    """Return which of `CHARACTER_KINDS` the first character of a text is."""
    cdef bytes utf8 = character[:1].encode() + b"\0\0\0"
    cdef unsigned length, kinds = tk_kinds_at(utf8, &length)
    return {name for name, kind in CHARACTER_KINDS.items() if kinds & <int> kind}


cdef class Stages:
    """Components to run one after another, each (kind, options…). Immutable.

    ("form", "NFC"), ("lowercase",), ("strip_accents",), ("nmt",), ("byte_level",), ("bert", clean, chinese, strip,
    lower), ("prepend", utf8), ("strip", left, right), ("replace", utf8, content, least, ahead),
    ("replace_pattern", SplitPattern, content), ("charsmap", Charsmap, longest), ("split_pattern", scanner or
    SplitPattern, behavior, invert), ("split_kind", kind, behavior), ("split_character", character, behavior),
    ("split_words",), ("split_bert",), ("split_scripts",), ("split_fixed", length), ("prefix_space",),
    ("byte_symbols",), ("metaspace", replacement, scheme). Instead of "prefix_space" and "metaspace",
    "prefix_space_first" and "metaspace_first" do not prepend inside a text of which only a chunk is given.

    >>> from tokkit._core.align import AlignedText
    >>> text = AlignedText("A b")
    >>> Stages([("lowercase",), ("split_kind", "white", 0)]).run(text)
    >>> text.pieces
    ['a', 'b']
    """

    def __cinit__(self, stages):
        cdef size_t k
        stages = list(stages)
        self.owners = []
        self.n = len(stages)
        self.list = <tk_stage *> calloc(self.n + 1, sizeof(tk_stage))
        if self.list is NULL:
            raise MemoryError
        for k in range(self.n):
            spec = tuple(stages[k]) + (None,) * 4
            self.set(self.list + k, spec[0], spec[1], spec[2], spec[3], spec[4])

    def __dealloc__(self):
        free(self.list)

    def __len__(self):
        return self.n

    cdef object set(self, tk_stage *stage, str kind, first, second, third, fourth):
        if kind.endswith("_first"):
            kind = kind.removesuffix("_first")
            stage.skips_inside = True
        if kind not in KINDS:
            raise ValueError(f"kind is {kind!r}; it must be one of {', '.join(KINDS)}")
        stage.kind = KINDS.index(kind)
        if kind == "form":
            stage.numbers[0] = FORMS[first]
        elif kind in ("bert", "strip"):
            for k, flag in enumerate((first, second, third, fourth)):
                stage.numbers[k] = bool(flag)
        elif kind == "prepend":
            self.keep_content(stage, first)
        elif kind == "replace":
            self.owners.append(first)
            if not first:
                raise ValueError("the pattern of replace is empty; it must have at least 1 byte")
            stage.pattern, stage.n_pattern = <const uint8_t *> <const char *> (<bytes> first), len(first)
            self.keep_content(stage, second)
            stage.count = third or 0
            stage.numbers[0] = fourth or 0
            if not 0 <= stage.numbers[0] < len(first) or (stage.count and stage.numbers[0]):
                raise ValueError(
                    f"least is {stage.count} and ahead {stage.numbers[0]} for a pattern of {len(first)} bytes; ahead "
                    f"must be from 0 to {len(first) - 1}, and 0 if least is given"
                )
        elif kind == "replace_pattern":
            self.keep_split(stage, first)
            self.keep_content(stage, second)
        elif kind == "charsmap":
            self.owners.append(first)
            stage.map = &(<Charsmap?> first).map
            stage.numbers[0] = bool(second)
        elif kind == "split_pattern":
            self.keep_split(stage, first)
            stage.numbers[0], stage.numbers[1] = checked_behavior(second), bool(third)
        elif kind == "split_kind":
            stage.numbers[1], stage.numbers[0] = CHARACTER_KINDS[first], checked_behavior(second)
        elif kind == "split_character":
            stage.count, stage.numbers[0] = ord(first), checked_behavior(second)
        elif kind == "split_fixed":
            if first < 1:
                raise ValueError(f"the length of split_fixed is {first}; it must be at least 1")
            stage.count = first
        elif kind == "metaspace":
            stage.count = ord(first)
            if not 0 <= second <= TK_PREPEND_FIRST:
                raise ValueError(f"scheme is {second}; it must be from 0 to {TK_PREPEND_FIRST}")
            stage.numbers[0] = second

    cdef object keep_content(self, tk_stage *stage, bytes content):
        self.owners.append(content)
        stage.content, stage.n_content = <const uint8_t *> <const char *> content, len(content)

    cdef object keep_split(self, tk_stage *stage, split):
        self.owners.append(split)
        stage.split = split_of(split)

    def run(self, AlignedText text not None):
        """Change the pretokens of a text that are not added tokens, and cut them further."""
        cdef int status
        with nogil:
            status = tk_stages_run(self.list, self.n, &text.state)
        check_stage(status)


cdef object keep(tk_cut_rule *rule, const uint8_t[::1] kept, const uint8_t *neighbors):
    # Lets a rule cut between characters that are no neighbours in tokens.
    memcpy(rule.kept, &kept[0], sizeof(rule.kept))
    rule.neighbors = neighbors
    tk_cut_rule_finish(rule)
    return True


cdef class StagedEncoder(Encoder):
    """Components and a model as a plan: a rule cuts a text into units; those not in the cache run through `stages`.

    `rule` has the two tables of a cut rule (uint8, 133 atoms, see csrc/split/cut_rule.h), or is None for a text that is
    one unit; `word_rule` has the cuts that also end words, or, with `one_word`, the text between two added tokens is
    one word. `before` runs on the text between two added tokens before that is cut. `edges` has the bits 1, 2 and 4
    if a unit at the start of a text, after an added token, or at the end of either is encoded differently. `kept` has
    the atoms whose characters reach the model as they are (uint8): between them text is also cut where no token of BPE
    stands across.
    """

    def __cinit__(self, PieceEncoder model not None, Stages stages not None, *, Stages before=None, rule=None,
                  word_rule=None, bint one_word=False, unsigned edges=0, kept=None, size_t n_ids=0, size_t max_words=0,
                  size_t cache_lines=0):
        self.model, self.stages, self.before = model, stages, before
        self.n_ids, self.max_words = n_ids, max_words
        tk_plan_staged(&self.plan, &model.model, stages.list, stages.n, max_words)
        rule_of(&self.cuts, rule)
        rule_of(&self.word_cuts, word_rule)
        if kept is not None and model.model.neighbors is not NULL:
            rule = keep(&self.cuts, kept, model.model.neighbors)
            word_rule = keep(&self.word_cuts, kept, model.model.neighbors) if one_word else word_rule
        tk_plan_cut(
            &self.plan, NULL if rule is None else &self.cuts, NULL if word_rule is None else &self.word_cuts, edges
        )
        self.plan.cache_lines = self.plan.offset_lines = cache_lines
        self.plan.emission.one_word = one_word
        if before is not None:
            self.plan.before, self.plan.n_before = before.list, before.n
        self.splittable = rule is not None and before is None
        self.share_ints()

    def units(self, text, isa=None):
        """Return the ends of the units of a text, int64 byte offsets into `to_utf8(text)`, as `isa` finds them."""
        cdef int by = isa_number(isa)
        cdef bytes utf8 = to_utf8(text)
        cdef const uint8_t *p = <const uint8_t *> <const char *> utf8
        cdef size_t n = len(utf8), at = 0, got, k
        cdef size_t ends[256]
        if self.plan.part_rule is NULL:
            return np.array([n] if n else [], dtype=np.int64)
        found = []
        while True:
            got = tk_cut_units_by(by, self.plan.part_rule, p, n, &at, ends, 256)
            if got == 0:
                return np.array(found, dtype=np.int64)
            for k in range(got):
                found.append(ends[k])
