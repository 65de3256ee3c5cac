"""Rows of gensim's names: word vectors, their training and files, phrases."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import corpora
from benchmarks.calls.equal import nothing
from benchmarks.calls.rows import Row, Side, Texts

TRAINING = {"vector_size": 100, "window": 5, "min_count": 2, "workers": 1, "seed": 1, "epochs": 1}
PHRASES = {"min_count": 2, "threshold": 5}
SIMILARITY = 1.3
LARGE = 400_000


class GensimSide(Side):
    """gensim.models, or tokkit.embeddings."""

    def __init__(self, ours: bool, texts: Texts) -> None:
        super().__init__(ours, texts)
        if ours:
            import tokkit.embeddings as lib

            self.lib, self.phrases = lib, lib.Phrases
        else:
            import gensim.models as lib
            from gensim.models.phrases import Phrases

            self.lib, self.phrases = lib, Phrases

    @cached_property
    def sentences(self) -> list[list[str]]:
        """Lists of words to train on."""
        names = corpora.defaults("tinyshakespeare")
        text = corpora.read(names[0], 1.2).data.decode().lower()
        return [words for line in text.split("\n") if (words := re.findall(r"[a-z']+", line))]

    @cached_property
    def model(self) -> Any:
        """Word vectors of 100 numbers, trained."""
        return self.lib.Word2Vec(self.sentences, **TRAINING)

    @cached_property
    def subwords(self) -> Any:
        """Vectors of words and their parts, trained."""
        return self.lib.FastText(self.sentences, bucket=20_000, **TRAINING)

    @cached_property
    def bigrams(self) -> Any:
        """Phrases of two words."""
        return self.phrases(self.sentences, **PHRASES)

    @cached_property
    def saved(self) -> str:
        """The file of a model."""
        path = str(self.folder / "saved")
        self.model.save(path)
        return path

    def saved_vectors(self, given: Given) -> str:
        """Return the file of vectors, written when first asked for."""
        path = self.folder / "saved.kv"
        if not path.exists():
            given.wv(self).save(str(path))
        return str(path)

    def vectors(self, words: list[str], matrix: np.ndarray) -> Any:
        """Return KeyedVectors of these words."""
        found = self.lib.KeyedVectors(matrix.shape[1]) if not self.ours else None
        if found is None:
            return self.lib.KeyedVectors.of(words, matrix.copy())
        found.add_vectors(words, matrix.copy())
        return found


class Given:
    """What both sides get: vectors that gensim has trained, as files, and words."""

    def __init__(self, side: GensimSide) -> None:
        trained = side.model.wv
        self.keys = list(trained.index_to_key)
        # Vectors of one epoch are so alike that the last bits of a sum decide which word is nearer.
        self.matrix = np.random.default_rng(1).standard_normal((len(self.keys), 100), dtype=np.float32)
        self.words, self.few = self.keys[:300], self.keys[:100]
        self.fives = [self.words[i : i + 5] for i in range(0, 300, 5)]
        self.unknown = [f"{word}xyz" for word in self.words]
        self.counts = {word: 2000 - i for i, word in enumerate(self.keys[:1500])}
        self.pairs, self.analogies = str(side.folder / "pairs.tsv"), str(side.folder / "analogies.txt")
        Path(self.pairs).write_text("".join(f"{a}\t{b}\t{i}\n" for i, (a, b, *_) in enumerate(self.fives)))
        Path(self.analogies).write_text(": all\n" + "".join(f"{' '.join(words[:4])}\n" for words in self.fives))
        self.text, self.binary = str(side.folder / "v.txt"), str(side.folder / "v.bin")
        trained.save_word2vec_format(self.text)
        trained.save_word2vec_format(self.binary, binary=True)
        self.large_keys = [f"word{i}" for i in range(LARGE)]
        self.large = np.random.default_rng(0).standard_normal((LARGE, 100), dtype=np.float32)
        self._made: dict[tuple[bool, str], Any] = {}

    def wv(self, side: GensimSide) -> Any:
        """Return the trained vectors as an object of the side."""
        key = side.ours, "wv"
        if key not in self._made:
            self._made[key] = side.vectors(self.keys, self.matrix)
        return self._made[key]

    def many(self, side: GensimSide) -> Any:
        """Return 400,000 vectors as an object of the side."""
        key = side.ours, "many"
        if key not in self._made:
            self._made[key] = side.vectors(self.large_keys, self.large)
        return self._made[key]


def near(s: Any, g: Given, **options: Any) -> Any:
    """Search the neighbours of each of 100 words beside king, away from man."""
    wv = g.wv(s)
    return [wv.most_similar(positive=["king", word], negative=["man"], **options) for word in g.few]


def cosmul(s: Any, g: Given) -> Any:
    """Search by products of similarities."""
    wv = g.wv(s)
    return [wv.most_similar_cosmul(positive=["king", word], negative=["man"]) for word in g.few]


def each(s: Any, g: Given, method: str, *more: Any, **options: Any) -> list[Any]:
    """Call a method of the vectors with each of 300 words."""
    call = getattr(g.wv(s), method)
    return [call(word, *more, **options) for word in g.words]


def fives(s: Any, g: Given) -> list[Any]:
    """Compare two sets of five words, 60 times."""
    wv = g.wv(s)
    return [wv.n_similarity(g.words[:5], words) for words in g.fives]


def odd_ones(s: Any, g: Given) -> list[Any]:
    """Find the word of five that does not match, 60 times."""
    wv = g.wv(s)
    return [wv.doesnt_match(words) for words in g.fives]


def attributes(s: Any, g: Given) -> list[Any]:
    """Set and read an attribute of each of 300 words."""
    wv = g.wv(s)
    for word in g.words:
        wv.set_vecattr(word, "seen", 1)
    return [wv.get_vecattr(word, "seen") for word in g.words]


def add(s: Any, g: Given) -> Any:
    """Make vectors of 4,000 words in one call."""
    wv = s.lib.KeyedVectors(100)
    wv.add_vectors(g.keys, g.matrix)
    return wv


def new_vectors(s: Any, g: Given) -> Any:
    """Return vectors for a row that changes them."""
    return s.vectors(g.keys, g.matrix)


def counted_vectors(s: Any, g: Given) -> Any:
    """Return vectors with the counts of their words, for a row that changes them."""
    wv = new_vectors(s, g)
    for i, word in enumerate(g.keys):
        wv.set_vecattr(word, "count", i + 1)
    return wv


def sort(wv: Any, _given: Given) -> Any:
    """Order words by their counts."""
    wv.sort_by_descending_frequency()
    return wv


def change(method: str) -> Any:
    """Return a call that changes new vectors."""

    def call(wv: Any, _given: Given) -> Any:
        getattr(wv, method)()
        return wv

    return call


def joined(s: Any, _given: Given) -> Any:
    """Write the phrases of all sentences as one word each."""
    return list(s.bigrams[s.sentences])


def correlations(found: Any) -> tuple[float, ...]:
    """Read both correlations, their significance, and the share of unknown pairs."""
    return (*map(float, found[0]), *map(float, found[1]), float(found[2]))


def vectors(wv: Any) -> Any:
    """Read the matrix."""
    return wv.vectors


LOOKUPS = (
    Row("wv[word]", lambda s, g: each(s, g, "__getitem__"), per="words", floor=1.0),
    Row("wv[words]", lambda s, g: g.wv(s)[g.words]),
    Row("get_vector", lambda s, g: each(s, g, "get_vector"), per="words"),
    Row("get_vector, normed", lambda s, g: each(s, g, "get_vector", norm=True), per="words"),
    Row("get_index", lambda s, g: each(s, g, "get_index"), per="words"),
    Row("has_index_for", lambda s, g: each(s, g, "has_index_for"), per="words"),
    Row("word in wv", lambda s, g: [word in g.wv(s) for word in g.words], per="words"),
    Row("len", lambda s, g: len(g.wv(s))),
    Row("key_to_index", lambda s, g: g.wv(s).key_to_index),
    Row("index_to_key", lambda s, g: g.wv(s).index_to_key),
    Row("get_mean_vector", lambda s, g: g.wv(s).get_mean_vector(g.words)),
    Row("get_normed_vectors", lambda s, g: g.wv(s).get_normed_vectors()),
    Row("set_vecattr and get_vecattr", attributes, per="words"),
    Row("add_vectors", add, read=vectors),
    Row("add_vector", lambda wv, g: wv.add_vector("a new word", g.matrix[0]), before=new_vectors),
    Row("allocate_vecattrs", lambda wv, g: wv.allocate_vecattrs(["seen"], [int]), before=new_vectors),
    Row("sort_by_descending_frequency", sort, before=counted_vectors, read=vectors),
    Row("fill_norms", change("fill_norms"), before=new_vectors, read=vectors),
    Row("unit_normalize_all", change("unit_normalize_all"), before=new_vectors, read=vectors),
    Row("vectors_for_all", lambda s, g: g.wv(s).vectors_for_all(g.words), read=vectors),
)
SIMILARITIES = (
    Row("similarity", lambda s, g: each(s, g, "similarity", "king"), per="words", floor=SIMILARITY),
    Row("distance", lambda s, g: each(s, g, "distance", "king"), per="words", floor=SIMILARITY),
    Row("distances", lambda s, g: g.wv(s).distances("king")),
    Row("cosine_similarities", lambda s, g: s.lib.KeyedVectors.cosine_similarities(g.matrix[5], g.matrix)),
    Row("n_similarity", fives, per="fives", floor=SIMILARITY),
    Row("doesnt_match", odd_ones, per="fives", floor=SIMILARITY),
    Row("most_similar", lambda s, g: [g.wv(s).most_similar(word) for word in g.few], per="few", floor=2),
    Row("most_similar of 400,000", lambda s, g: g.many(s).most_similar("word7"), floor=1.4),
    Row("most_similar of a sum", near, per="few", floor=2),
    Row("most_similar, topn=100", lambda s, g: near(s, g, topn=100), per="few", floor=2),
    Row("most_similar, restrict_vocab", lambda s, g: near(s, g, restrict_vocab=1000), per="few"),
    Row("most_similar_cosmul", cosmul, per="few"),
    Row("most_similar_to_given", lambda s, g: g.wv(s).most_similar_to_given("king", g.words[:50])),
    Row("similar_by_word", lambda s, g: g.wv(s).similar_by_word("king"), floor=2),
    Row("similar_by_key", lambda s, g: g.wv(s).similar_by_key("king"), floor=2),
    Row("similar_by_vector", lambda s, g: g.wv(s).similar_by_vector(g.matrix[5]), floor=2),
    Row("closer_than", lambda s, g: g.wv(s).closer_than("king", "man")),
    Row("rank", lambda s, g: [g.wv(s).rank("king", word) for word in g.few], per="few"),
    Row("rank_by_centrality", lambda s, g: g.wv(s).rank_by_centrality(g.words[:50])),
    Row("relative_cosine_similarity", lambda s, g: g.wv(s).relative_cosine_similarity("king", "man")),
    Row("evaluate_word_pairs", lambda s, g: g.wv(s).evaluate_word_pairs(g.pairs), read=correlations),
    Row("evaluate_word_analogies", lambda s, g: g.wv(s).evaluate_word_analogies(g.analogies)),
)

FILES = (
    Row("save_word2vec_format, text", lambda s, g: g.wv(s).save_word2vec_format(str(s.folder / "o.txt"))),
    Row("save_word2vec_format, binary", lambda s, g: g.wv(s).save_word2vec_format(str(s.folder / "o"), binary=True)),
    Row("load_word2vec_format, text", lambda s, g: s.lib.KeyedVectors.load_word2vec_format(g.text), read=vectors),
    Row(
        "load_word2vec_format, binary",
        lambda s, g: s.lib.KeyedVectors.load_word2vec_format(g.binary, binary=True),
        read=vectors,
    ),
    Row(
        "intersect_word2vec_format",
        lambda wv, g: wv.intersect_word2vec_format(g.text),
        before=counted_vectors,
        same=nothing,
    ),
    Row("Word2Vec.save", lambda s, g: s.model.save(str(s.folder / "m"))),
    Row("Word2Vec.load", lambda s, g: s.lib.Word2Vec.load(s.saved), read=lambda m: len(m.wv)),
    Row("KeyedVectors.save", lambda s, g: g.wv(s).save(str(s.folder / "kv"))),
    Row("KeyedVectors.load", lambda s, g: s.lib.KeyedVectors.load(s.saved_vectors(g)), read=vectors),
)

TRAIN = (
    Row("Word2Vec, skip-gram", lambda s, g: s.lib.Word2Vec(s.sentences, sg=1, **TRAINING), read=lambda m: len(m.wv)),
    Row("Word2Vec, cbow", lambda s, g: s.lib.Word2Vec(s.sentences, sg=0, **TRAINING), read=lambda m: len(m.wv)),
    Row("FastText", lambda s, g: s.lib.FastText(s.sentences, bucket=20_000, **TRAINING), read=lambda m: len(m.wv)),
    Row("build_vocab", lambda s, g: s.lib.Word2Vec(**TRAINING).build_vocab(s.sentences)),
    Row("build_vocab_from_freq", lambda s, g: s.lib.Word2Vec(**TRAINING).build_vocab_from_freq(g.counts)),
    Row("get_latest_training_loss", lambda s, g: s.model.get_latest_training_loss()),
    Row("predict_output_word", lambda s, g: s.model.predict_output_word(g.words[:5]), same=nothing),
    Row(
        "FastText, vectors of unknown words",
        lambda s, g: [s.subwords.wv[word] for word in g.unknown],
        same=nothing,
        per="unknown",
    ),
    Row("Phrases", lambda s, g: s.phrases(s.sentences, **PHRASES), read=lambda p: p.export_phrases(), floor=3),
    Row("Phrases.add_vocab", lambda s, g: s.phrases(**PHRASES).add_vocab(s.sentences), floor=3),
    Row("Phrases.find_phrases", lambda s, g: s.bigrams.find_phrases(s.sentences)),
    Row("Phrases.export_phrases", lambda s, g: s.bigrams.export_phrases()),
    Row("Phrases[sentences]", joined),
    Row("Phrases.freeze", lambda s, g: s.bigrams.freeze(), same=nothing),
)

ROWS = (*LOOKUPS, *SIMILARITIES, *FILES, *TRAIN)
