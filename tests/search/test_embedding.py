"""Files are embedded into an index and searched from a program; once with real weights."""

from __future__ import annotations

from pathlib import Path

import pytest

import minilm
from tokkit.errors import CorpusError, FormatError, OptionError, SameFileError
from tokkit.search import SearchIndex
from tokkit.search.embedding import Embedding, Options, find
from word_encoder import WordEncoder

PASSAGES = {
    "heron.txt": "A grey heron waits without moving at the edge of the pond.",
    "loan.txt": "The central bank raised its key interest rate by half a point.",
    "bread.txt": "Knead the dough for ten minutes, then let it rise under a cloth.",
    "train.txt": "The night express to the coast was two hours late.",
    "virus.txt": "Vaccines teach the immune system to recognise a pathogen.",
    "code.txt": "The function raised an exception because the list was empty.",
}
QUERIES = {
    "birds that live near water": "heron.txt",
    "monetary policy": "loan.txt",
    "how do I bake a loaf?": "bread.txt",
    "railway delays": "train.txt",
    "medicine against infections": "virus.txt",
    "debugging a program": "code.txt",
}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in PASSAGES.items():
        (folder / name).write_text(text)
    return folder


def test_an_index_is_not_made_of_its_own_files(notes: Path, tmp_path: Path) -> None:
    place = tmp_path / "index"
    Embedding([str(notes)], place).run(WordEncoder(max_length=100), model="words")
    (notes / "linked.json").hardlink_to(place / "index.json")
    for given in (place, place / "index.json", notes, place / "vectors-*"):
        for how in ({"append": True}, {"overwrite": True}):
            with pytest.raises(SameFileError, match="are the same file; choose another output"):
                Embedding([str(given)], place, **how)
    (notes / "linked.json").unlink()
    (place / "more.txt").write_text("A file beside the index's own.")
    assert Embedding([str(place / "more.txt")], place, append=True).run(WordEncoder(max_length=100)).files == 1


def test_a_folder_is_embedded_found_and_added_to(notes: Path, tmp_path: Path) -> None:
    encoder, place = WordEncoder(max_length=100), tmp_path / "index"
    done = Embedding([str(notes)], place).run(encoder, model="words")
    assert (done.passages, done.files, done.unchanged, done.skipped) == (6, 6, 0, [])
    (first,), (second,) = find(done.index, encoder, ["heron pond", "express coast"], k=1)
    assert Path(first.path) == notes / "heron.txt"
    assert (first.text, Path(second.path).name) == (PASSAGES["heron.txt"], "train.txt")
    (notes / "new.txt").write_text("Owls hunt at night.")
    (notes / "image.png").write_bytes(b"\0")
    more = Embedding([str(notes)], place, append=True).run(encoder)
    assert (more.passages, more.files, more.unchanged) == (1, 1, 6)
    assert [(Path(path).name, reason) for path, reason in more.skipped] == [
        ("image.png", "binary: it contains the byte 0")
    ]
    assert more.index.about.model == "words"
    assert len(SearchIndex.open(place)) == 7


def test_what_is_wrong_is_said_before_anything_is_encoded(notes: Path, tmp_path: Path) -> None:
    encoder, place = WordEncoder(), tmp_path / "index"
    with pytest.raises(CorpusError, match="does not exist"):
        Embedding([str(notes / "absent")], place)
    with pytest.raises(TypeError, match=r"is one str; it must be"):
        Embedding(str(notes), place)
    with pytest.raises(FileExistsError, match="with other files"):
        Embedding([str(notes)], notes)
    with pytest.raises(FormatError, match="no index"):
        Embedding([str(notes)], notes, append=True)
    with pytest.raises(OptionError, match="give only one of them"):
        Embedding([str(notes)], place, append=True, overwrite=True)
    Embedding([str(notes)], place).run(encoder)
    adding = Embedding([str(notes)], place, append=True)
    with pytest.raises(OptionError, match="tokens is 9; the index has passages of 34 tokens"):
        adding.run(encoder, options=Options(tokens=9))
    with pytest.raises(OptionError, match=r"words-0 .*words-5"):
        adding.run(WordEncoder(seed=5))
    with pytest.raises(OptionError, match=r"words-0 .*words-5"):
        find(SearchIndex.open(place), WordEncoder(seed=5), ["q"])
    with pytest.raises(TypeError, match=r"is one str; it must be"):
        find(SearchIndex.open(place), encoder, "q")
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "a.png").write_bytes(b"\0")
    with pytest.raises(CorpusError, match=r"no file in .* can be read; .*a\.png: binary"):
        Embedding([str(tmp_path / "only")], tmp_path / "other").run(encoder)
    assert not (tmp_path / "other").exists()


def test_real_weights_rank_as_a_person_would(notes: Path, tmp_path: Path) -> None:
    encoder = minilm.encoder()
    index = Embedding([str(notes)], tmp_path / "index").run(encoder).index
    found = find(index, encoder, list(QUERIES), k=2)
    assert {query: Path(hits[0].path).name for query, hits in zip(QUERIES, found, strict=True)} == QUERIES
    assert all(hits[0].score > hits[1].score + 0.05 for hits in found)
