"""tokenizer.json files and corpora in, a table out: the speed of models alone, in pieces, beside tokenizers'.

Both get the pieces that the file's own normalizer and pretokenizer make, tokenizers with `is_pretokenized`. A row is
one size of our cache of units (`models.pieces.CACHE_UNITS`); processor time, so that a busy machine disturbs less.
Exit status 1 if ids or numbers of words are wrong anywhere.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers

from benchmarks import corpora, harness
from tokkit._core.aligned import AlignedText
from tokkit.formats import decimals
from tokkit.models.char_bpe import CharBPE, merge_ids
from tokkit.models.pieces import PieceModel
from tokkit.models.unigram import Unigram
from tokkit.models.wordpiece import WordPiece
from tokkit.vocab import Vocab

RIVAL_SHARE = 8
"""tokenizers encodes one document of so many: it is that much slower."""


def maker(path: Path) -> Callable[[int], PieceModel]:
    """Return what makes the model of a tokenizer.json with a cache of a given size."""
    fields = json.loads(path.read_text(encoding="utf-8"), parse_float=decimals.read)["model"]
    tokens = fields["vocab"]
    if isinstance(tokens, list):
        vocab = Vocab.from_list([token.encode() for token, _ in tokens])
        unigram = Unigram(scores=np.array([score for _, score in tokens]), unk_id=fields["unk_id"])
        return lambda units: unigram.encoder(vocab, cache_units=units)
    vocab = Vocab.from_mapping({token.encode(): id_ for token, id_ in tokens.items()})
    if "merges" not in fields:
        wordpiece = WordPiece(unk_token=fields["unk_token"])
        return lambda units: wordpiece.encoder(vocab, cache_units=units)
    options = {name: fields[name] for name in CharBPE.__dataclass_fields__ if name in fields and name != "merges"}
    bpe = CharBPE(merges=merge_ids(vocab, fields["merges"]), **options)
    return lambda units: bpe.encoder(vocab, cache_units=units)


def aligned(pieces: Sequence[str]) -> AlignedText:
    """Return a text that is these pieces."""
    text = AlignedText("".join(pieces))
    text.cut(lambda _: pairwise(accumulate(map(len, pieces), initial=0)))
    return text


def megabytes_per_second(call: Callable[[Any], object], items: Sequence[Any], size: float) -> float:
    """Return the speed of one pass over all of them."""
    start = time.thread_time()
    for item in items:
        call(item)
    return size / (time.thread_time() - start) / 1e6


def run(path: Path, corpus: corpora.Corpus, *, size: int, passes: int, units: Sequence[int]) -> bool:
    """Print the table of one model and corpus; return whether all was right."""
    file = tokenizers.Tokenizer.from_file(str(path))
    bare, make = tokenizers.Tokenizer(file.model), maker(path)
    documents = corpus.documents(size)
    if file.normalizer:
        documents = [file.normalizer.normalize_str(text) for text in documents]
    pieces = [[piece for piece, _ in file.pre_tokenizer.pre_tokenize_str(text)] for text in documents]
    pieces = [document for document in pieces if document]
    texts, some = [aligned(document) for document in pieces], pieces[::RIVAL_SHARE]
    n_bytes = sum(len(text.utf8) for text in texts)
    rival = megabytes_per_second(
        lambda document: bare.encode(document, is_pretokenized=True, add_special_tokens=False),
        some,
        sum(len(piece.encode()) for document in some for piece in document),
    )
    rows, fine = [], True
    for n in units:
        model = make(n)
        cold = megabytes_per_second(model.encode, texts, n_bytes)
        warm = max(megabytes_per_second(model.encode, texts, n_bytes) for _ in range(passes))
        for document, text in zip(some, texts[::RIVAL_SHARE], strict=True):
            wanted = bare.encode(document, is_pretokenized=True, add_special_tokens=False)
            ids, _, words = model.encode(text)
            fine &= ids.tolist() == wanted.ids and words.tolist() == wanted.word_ids
        speeds = {"cold": f"{cold:.1f}", "warm": f"{warm:.1f}", "tokenizers": f"{rival:.2f}"}
        rows.append({"cache units": n, **speeds, "cold ÷ tokenizers": f"{cold / rival:.1f}"})
    print(f"\n## {path.parent.name}, {corpus.name}, {n_bytes / 1e6:.1f} MB, MB/s{'' if fine else ': WRONG'}")
    print(harness.table(rows), flush=True)
    return fine


def main() -> int:
    """Run what the command line names; return the exit status."""
    parser = harness.Parser(__doc__)
    add = parser.add_argument
    add(
        "--model",
        type=harness.names,
        default="mistral-v1,t5,bert-base-uncased",
        help="folders, or tokenizer.json files",
    )
    add("--corpus", type=harness.names, default=",".join(corpora.defaults("english-prose", "de", "zh")), help="names")
    add("--mb", type=float, default=2.0, help="megabytes of each corpus")
    add("--doc", type=float, default=2, help="kB of a document")
    add("--passes", type=int, default=5, help="later (warm) passes")
    add("--units", type=harness.names, default="0,16384,65536,262144", help="sizes of the cache")
    args = parser.parse_args()
    try:
        paths = [corpora.tokenizer_file(name) for name in args.model]
        texts = [corpora.read(name, args.mb) for name in args.corpus]
    except FileNotFoundError as error:
        parser.error(str(error))
    units, fine = [int(n) for n in args.units], True
    with harness.pinned(1):
        print(harness.conditions("1", documents=f"{args.doc:g} kB"))
        for path in paths:
            for text in texts:
                fine &= run(path, text, size=int(args.doc * 1000), passes=args.passes, units=units)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
