"""The ids of units, which the core merges independently, concatenated are the ids of whole pretokens.

Vector scanners cut runs of Han, Kana and Hangul where no token can span the cut (csrc/split/safe_cuts.h). The twin is
reference/safe_cuts.py: it merges pieces, and merges units, and knows every place where a cut may be.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from conftest import LONG, PUBLISHED, slice_of
from reference.bpe_encode import merge_list_bpe, rank_bpe, ranked
from reference.safe_cuts import SafeCuts, between
from reference.split import split
from strategies import adversarial
from tokkit._core.encode.bpe import BPEEncoder
from tokkit._core.text import isas, to_utf8
from tokkit.models import bpe
from tokkit.models.bpe import BPE
from tokkit.pretokenizers.patterns import BYTE_LEVEL, CL100K, LLAMA3, O200K, QWEN2, R50K, SCANNERS
from tokkit.vocab import Vocab
from vocabularies import ALPHABETS, BYTES, grown

if TYPE_CHECKING:
    import tiktoken

    import tokkit

VECTOR = [name for name in isas() if name != "scalar"]
PATTERNS = {"r50k": R50K, "cl100k": CL100K, "o200k": O200K, "llama3": LLAMA3, "qwen2": QWEN2}
BYTES_OF_BLOCK = 64
SHAPES = ("東소𠀀の", "東" * 50 + "𠀀", "の東's東S", "aB東B東's", "𝐀東é", " 東", "東京都'LL中国ABc한")
Merges = list[tuple[int, int, int]]
# Han is upper and lower case at once for o200k, and U+30FC a modifier letter; Yi has the first bytes of no dense run.
CASED = "aBsSéÉжЖǅʰー東京中한の々\u0301\u0903"
TAILS = ("'s", "'S", "'ſ", "'ll", "'東", "'", " ", "\n", "1", "123", "!", "/", "𠀀", "ｱ", "ﾞ")


class Units:
    """A vocabulary, and the encoder whose units are looked at; `merge` gives the ids of one piece."""

    def __init__(
        self,
        ids: dict[bytes, int],
        pattern: str,
        *,
        merges: Merges | None = None,
        merge: Callable[[bytes], list[int]] | None = None,
    ) -> None:
        model = BPE() if merges is None else BPE(np.array(merges, dtype=np.uint32), whole_piece=False)
        self.pattern, self.ids, self.merges = pattern, ids, None if merges is None else ranked(merges)
        self.encoder: BPEEncoder = bpe.encoder(Vocab.from_mapping(ids), model, [], SCANNERS[pattern])
        self.of_piece = cache(merge or self.naive)
        # A token that no merge makes spans nothing; by merge lists there may be many.
        self.twin = SafeCuts(token for token in ids if merges is None or self.naive(token) == [ids[token]])

    def naive(self, piece: bytes) -> list[int]:
        return rank_bpe(piece, self.ids) if self.merges is None else merge_list_bpe(piece, self.ids, self.merges)

    def check(self, text: str, isa: str) -> int:
        """Return how many cuts inside pieces there were."""
        ends = self.encoder.units(text, isa).tolist()
        assert ends == sorted(set(ends)), (isa, text)
        assert not ends or ends[-1] == len(text.encode())
        data, at, cut = text.encode(), 0, 0
        for piece in split(self.pattern, text):
            whole, start, found = piece.encode(), at, []
            while ends[cut] < start + len(whole):
                found.append(ends[cut] - start)
                cut += 1
            assert ends[cut] == start + len(whole), (isa, text, piece)  # the end of a piece is the end of a unit
            cut, at = cut + 1, start + len(whole)
            if found:
                assert set(found) <= set(self.twin.cuts(piece)), (isa, text, piece)
                parts = [whole[a:b] for a, b in zip([0, *found], [*found, len(whole)], strict=True)]
                assert [id_ for part in parts for id_ in self.of_piece(part)] == self.of_piece(whole), (isa, text)
        assert at == len(data)
        assert cut == len(ends)
        return len(ends) - len(split(self.pattern, text))


def numbered(tokens: list[bytes]) -> dict[bytes, int]:
    return {token: id_ for id_, token in enumerate(tokens)}


def grown_texts(seed: int, n: int) -> list[str]:
    """Runs of one alphabet after another, with tails that end a piece."""
    rng = random.Random(seed)
    alphabets = list(ALPHABETS.values())
    found = []
    for _ in range(n):
        parts = ["".join(rng.choices(rng.choice(alphabets), k=rng.randint(1, 20))) for _ in range(rng.randint(3, 12))]
        found.append("".join(part + rng.choice((*TAILS, "")) for part in parts))
    return found


@pytest.fixture(scope="module")
def small_units() -> Callable[[str, str], Units]:
    @cache
    def made(alphabet: str, pattern: str) -> Units:
        return Units(numbered(grown(7, ALPHABETS[alphabet], 150)), PATTERNS[pattern])

    return made


@pytest.mark.parametrize("isa", VECTOR)
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_units_of_a_small_vocabulary_merge_to_what_its_pieces_merge_to(
    small_units: Callable[[str, str], Units], alphabet: str, pattern: str, isa: str
) -> None:
    units = small_units(alphabet, pattern)
    assert units.encoder.unreachable == 0
    rng = random.Random(11)
    texts = ["".join(rng.choices(ALPHABETS[alphabet], k=rng.randint(60, 300))) for _ in range(400 if LONG else 25)]
    cuts = sum(units.check(text, isa) for text in [*texts, *grown_texts(13, 400 if LONG else 25)])
    assert cuts > 0


@pytest.mark.parametrize("isa", VECTOR)
@pytest.mark.parametrize("seed", range(300 if LONG else 10))
def test_units_of_random_vocabularies_merge_to_what_pieces_merge_to(seed: int, isa: str) -> None:
    rng = random.Random(seed)
    alphabet = "".join(rng.sample("".join(ALPHABETS.values()), 9)) + rng.choice("東の소") + rng.choice(" 'sB")
    units = Units(numbered(grown(seed, alphabet, rng.choice((5, 20, 80)))), rng.choice(list(PATTERNS.values())))
    for _ in range(20):
        units.check("".join(rng.choices(alphabet, k=rng.randint(64, 200))), isa)


@pytest.mark.parametrize("isa", VECTOR)
@pytest.mark.parametrize(
    "shape", ["東소𠀀の", "東" * 50 + "𠀀", "の東's東S", "aB東B東's", "𝐀東é", " 東", "東京都'LL中国ABc한"]
)
def test_units_do_not_depend_on_where_blocks_begin_or_the_text_ends(
    small_units: Callable[[str, str], Units], shape: str, isa: str
) -> None:
    units = small_units("mixed", "o200k")
    text = shape * (260 // len(shape.encode()) + 1)
    for shift in range(BYTES_OF_BLOCK):
        units.check("x" * shift + text, isa)
        units.check("!" * shift + text, isa)
        units.check(text[: len(text) - shift], isa)


@pytest.mark.parametrize("isa", VECTOR)
@pytest.mark.parametrize("pattern", ["o200k", "cl100k", "r50k"])
def test_case_splits_and_contractions_beside_han_keep_their_places(
    small_units: Callable[[str, str], Units], pattern: str, isa: str
) -> None:
    units = small_units("mixed", pattern)
    triples = list(product(CASED, repeat=3))
    rng = random.Random(17)
    rng.shuffle(triples)
    for text in ("a東B", "東's東S", "東'sB", "A東b'S東", "B東s東S", "aー東B"):
        for shift in range(BYTES_OF_BLOCK):
            units.check("x" * shift + text * 40, isa)
    # All triples of kinds, each before another tail; a run of them crosses several blocks.
    for i in range(0, len(triples), 40 if LONG else 160):
        chosen = triples[i : i + 40]
        units.check("".join("".join(three) + rng.choice((*TAILS, "", "")) for three in chosen), isa)


@pytest.mark.parametrize("isa", VECTOR)
def test_tokens_that_only_a_whole_piece_can_be_turn_cuts_off(isa: str) -> None:
    # 東京 is a token that no merge makes: cut between its characters, a piece that it is would lose it.
    units = Units(numbered([*BYTES, "東京".encode()]), CL100K)
    text = "東京 東京都 " * 40
    assert units.encoder.unreachable == 1
    assert units.encoder.units(text, isa).tolist() == units.encoder.units(text, "scalar").tolist()
    assert units.encoder.encode("東京")[:1] == [256]
    for seed in range(40):
        rng = random.Random(seed)
        tokens = [*BYTES, *dict.fromkeys("".join(rng.choices("東京の", k=2)).encode() for _ in range(3))]
        units = Units(numbered(tokens), CL100K)
        text = "".join(rng.choices("東京の a", k=150))
        assert units.check(text, isa) == 0
        wanted = [id_ for piece in split(CL100K, text) for id_ in rank_bpe(piece.encode(), units.ids)]
        assert units.encoder.encode(text) == wanted


@pytest.mark.parametrize("isa", VECTOR)
@pytest.mark.parametrize("seed", range(100 if LONG else 8))
def test_units_of_a_list_of_merges_merge_to_what_pieces_merge_to(seed: int, isa: str) -> None:
    rng = random.Random(seed)
    alphabet = rng.choice(list(ALPHABETS.values()))
    tokens = grown(seed, alphabet, 60)
    ids = numbered(tokens)
    pairs = [
        (ids[t[:i]], ids[t[i:]], ids[t]) for t in tokens for i in range(1, len(t)) if t[:i] in ids and t[i:] in ids
    ]
    rng.shuffle(pairs)  # any order: tokens without a merge of their own are no result of merging here
    units = Units(ids, rng.choice((CL100K, O200K, BYTE_LEVEL)), merges=pairs[: rng.randint(1, len(pairs))])
    for _ in range(12):
        units.check("".join(rng.choices(alphabet, k=rng.randint(64, 200))), isa)


@pytest.fixture(scope="module")
def published_units(load_tiktoken: Callable[[str], tiktoken.Encoding]) -> Callable[[str], Units]:
    @cache
    def made(name: str) -> Units:
        theirs = load_tiktoken(name)
        pattern = PATTERNS.get(name.removesuffix("_base"), R50K)
        return Units(theirs._mergeable_ranks, pattern, merge=theirs._encode_single_piece)

    return made


@pytest.mark.parametrize("isa", VECTOR)
@pytest.mark.parametrize("name", PUBLISHED if LONG else [name for name in PUBLISHED if name != "p50k_base"])
def test_units_of_a_published_vocabulary_merge_to_what_its_pieces_merge_to(
    load_tiktoken: Callable[[str], tiktoken.Encoding], published_units: Callable[[str], Units], name: str, isa: str
) -> None:
    theirs, units = load_tiktoken(name), published_units(name)
    texts = [*grown_texts(19, 600 if LONG else 12), *(adversarial(seed, 3000) for seed in range(60 if LONG else 1))]
    rng = random.Random(23)
    for first, last in ((0x3041, 0x30FF), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0x4E00, 0x4FFF)):
        texts.append(
            "".join(chr(rng.randint(first, last)) + rng.choice(("", "", " ")) for _ in range(1500 if LONG else 300))
        )
    cuts = 0
    for text in texts:
        cuts += units.check(text, isa)
        found = units.encoder.encode_pieces(text.encode(), units.encoder.units(text, isa))
        assert found.tolist() == theirs.encode_ordinary(text)
    assert cuts > 100 or units.encoder.unreachable


@pytest.mark.parametrize("isa", VECTOR)
@pytest.mark.parametrize("corpus", ["zh", "ja", "ko", "wagahai"])
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_units_of_dense_corpora_end_where_ids_end(
    load_shared: Callable[[str], tokkit.Tokenizer], corpora: dict[str, object], corpus: str, name: str, isa: str
) -> None:
    text = slice_of(corpora[corpus], 60_000)
    encoder = load_shared(name)._engine._core
    tok = load_shared(name)
    ends, utf8 = encoder.units(text, isa), to_utf8(text, isa)
    ids = encoder.encode_pieces(utf8, encoder.units(text, "scalar"))
    assert np.array_equal(encoder.encode_pieces(utf8, ends), ids)
    ends_of_ids = np.cumsum([len(tok.token_bytes(id_)) for id_ in ids.tolist()])
    assert np.isin(ends, ends_of_ids).all()
    assert len(ends) > len(encoder.units(text, "scalar")) * 1.2


def test_a_rule_that_forgets_parts_of_characters_is_caught() -> None:
    # A negative control: the twin of such a rule gives wrong ids, so a core that had it would fail above.
    tokens = grown(7, ALPHABETS["hangul"], 150)
    ids = numbered(tokens)
    right, wrong = SafeCuts(tokens), SafeCuts(tokens, partial=False)
    rng = random.Random(29)
    caught = 0
    for _ in range(300):
        text = "".join(rng.choices(ALPHABETS["hangul"], k=rng.randint(2, 30)))
        data = text.encode()
        if data in ids:
            continue
        whole = rank_bpe(data, ids)
        assert between(data, right.cuts(text), ids) == whole, text
        caught += between(data, wrong.cuts(text), ids) != whole
    assert caught > 50
    example = SafeCuts([b" \xe6", "東".encode()], partial=False)
    assert example.cuts(" 東") == [1]
    assert SafeCuts([b" \xe6", "東".encode()]).cuts(" 東") == []
