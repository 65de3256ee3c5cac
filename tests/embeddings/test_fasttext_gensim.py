"""gensim reads models of FastText that are written here, and finds the same vectors and neighbours."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

from extras import extra
from tokkit.embeddings import FastText

facebook = extra("gensim.models.fasttext")


def test_gensim_reads_models_of_ours(tmp_path: Path) -> None:
    draw = random.Random(2)
    words = ["sail", "sails", "sailing", "日本語", "naïve", "a", "of"]
    ours = FastText([draw.choices(words, k=9) for _ in range(200)], vector_size=12, bucket=500, workers=1, sg=1)
    ours.save(tmp_path / "m.bin")
    theirs = facebook.load_facebook_model(str(tmp_path / "m.bin"))
    assert theirs.wv.index_to_key == ours.wv.index_to_key
    np.testing.assert_allclose(theirs.wv.vectors, ours.wv.vectors, atol=1e-6)
    for word in ("sailor", "日本", "ï"):
        np.testing.assert_allclose(theirs.wv[word], ours.wv[word], atol=1e-6)
    assert [w for w, _ in theirs.wv.most_similar("sailor", topn=3)] == [
        w for w, _ in ours.wv.most_similar("sailor", topn=3)
    ]
