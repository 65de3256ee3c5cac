"""`train`: checks the options, counts the words of a corpus, and runs the model's trainer.

Begin with `train` below; counts.py counts words, and each model's trainer has its own file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Unpack, overload

from tokkit._core.train.word_counts import WordCounts
from tokkit.corpus.readers import Corpus, InputErrors, Unit
from tokkit.errors import CorpusError, OptionError
from tokkit.threads import thread_count
from tokkit.tokenizer import Tokenizer
from tokkit.trainers.bounded_counts import bounded_words
from tokkit.trainers.count_files import CountedShard, build_counts, merge_counts, prune_counts
from tokkit.trainers.count_source import CountFiles
from tokkit.trainers.counts import Progress, Reporter, count_words, words_of
from tokkit.trainers.mixtures import Mixture
from tokkit.trainers.models import MODELS, options_of
from tokkit.trainers.options import Options, Step, Training, integer
from tokkit.trainers.sources import identity
from tokkit.trainers.special_texts import parts_of

__all__ = [
    "MODELS",
    "CountFiles",
    "CountedShard",
    "Mixture",
    "Step",
    "build_counts",
    "merge_counts",
    "options_of",
    "prune_counts",
    "train",
]


@overload
def train(
    source: object,
    *,
    model: str = ...,
    vocab_size: int = ...,
    unit: Unit | None = ...,
    field: str = ...,
    threads: int | None = ...,
    progress: Progress | bool | None = ...,
    input_errors: InputErrors = ...,
    **options: Unpack[Options],
) -> Tokenizer: ...
@overload
def train(
    source: object,
    *,
    model: str = ...,
    vocab_size: Sequence[int],
    unit: Unit | None = ...,
    field: str = ...,
    threads: int | None = ...,
    progress: Progress | bool | None = ...,
    input_errors: InputErrors = ...,
    **options: Unpack[Options],
) -> list[Tokenizer]: ...
def train(
    source: object,
    *,
    model: str = "bbpe",
    vocab_size: int | Sequence[int] = 32000,
    unit: Unit | None = None,
    field: str = "text",
    threads: int | None = None,
    progress: Progress | bool | None = None,
    input_errors: InputErrors = "strict",
    **options: Unpack[Options],
) -> Tokenizer | list[Tokenizer]:
    """Train a tokenizer. The same text gives the same tokenizer, for any order of files and number of threads.

    `source` is a path or a list of paths (files, folders, globs), an iterator of texts, each of which is a document, or
    of lists of texts, rows of mappings, a data frame or Dataset (see `tokkit.corpus.readers.Corpus`), a mapping word →
    count (words as after the model's normalizer and pretokenizer), `CountFiles`, files of counts, or a `Mixture` of
    sources with weights. `field` is the field or column of records. No word or token crosses the end of a document: an
    item of an iterator, a record, or in text files a `unit`: "file", "paragraph" or "line" (with its end). The default
    is "file" for models whose tokens may hold line ends ("bbpe", and "word" and "hybrid" with a pattern), else "line".
    A large file is read in blocks that end where its words do. CorpusError if no such place is known for 128 MiB (the
    limit held_bytes), or, with a pattern that only the `regex` package can run, for a file of more than 8 MiB.
    For the models of SentencePiece, a document is one sentence: a text of an iterator is not divided at its line ends.

    `vocab_size` includes the special tokens and the alphabet; with a list of sizes, the model is trained once, and a
    tokenizer of each size is returned. If the corpus is too small, there are fewer tokens, and models that merge log a
    warning (logger "tokkit"). `threads=None` uses TOKKIT_NUM_THREADS, or all CPUs of this process. `progress(stage,
    done, total)` is called for the stages "count" (bytes of files, 0 if unknown) and "merge" or "prune" (tokens); True
    shows a bar on stderr. Raises OptionError, PatternError, and CorpusError for text that cannot be used.

    The text is cut at special tokens, as when it is encoded with `special="all"`, and nothing of them is learned;
    special="text" learns them like other text (SentencePiece's models always cut, as the original). No token that the
    training makes has one of the texts `forbidden_tokens` in it; bytes, single characters and special tokens stay. The
    text of a token is without prefix and end-of-word mark. "char" and "sp-char" do not have this option.

    The other options depend on the model; they are errors with another model:

    - "bbpe", byte-level BPE: pattern="gpt2" (a name, a pattern in the syntax of `regex`, or None, which does not
      split), special_tokens=(), min_frequency=0, max_token_length=None, explain=None (a function that is called with
      each merge, a `Step`).
    - "bpe", classic BPE over characters, the only model that depends on the order of the text: pattern="whitespace" (or
      "punctuation"), word_end="apart" ("</w>" is a separate symbol; "attached", "none"), suffix="</w>",
      special_tokens=(), unk_token=None, min_frequency=0, lowercase=False, dropout=None, glossaries=(), explain=None.
    - "wordpiece", as BERT's: score="frequency" ("likelihood", "pmi"), special_tokens=("[PAD]", "[UNK]", "[CLS]",
      "[SEP]", "[MASK]"), unk_token="[UNK]", min_frequency=2, limit_alphabet=None, initial_alphabet=(),
      prefix="##", lowercase=True, strip_accents=None, handle_chinese_chars=True,
      max_input_chars_per_word=100, explain=None.
    - "word", whole words: pattern="punctuation" (or "whitespace", or a pattern whose matches are the words; those of
      a published one, such as "gpt2", keep their spaces), special_tokens=("[UNK]",), unk_token="[UNK]",
      min_frequency=1, lowercase=False.
    - "char": level="characters" or "bytes", special_tokens=("[UNK]",) (bytes: none), unk_token="[UNK]" and
      min_frequency=1 (characters).
    - "hybrid", whole words, and other words in characters or bytes: fallback="char" or "byte",
      special_tokens=("[UNK]",) (byte: none), unk_token="[UNK]" and limit_alphabet=None (char), pattern, min_frequency
      and lowercase as of "word", prefix="##" (before parts that do not begin a word; none where words keep their
      spaces).
    - "unigram", "sp-bpe", "sp-word", "sp-char", the models of SentencePiece: its flags by their names
      (`tokkit.trainers.sentencepiece` says what each means), among them character_coverage=0.9995,
      normalization_rule_name="nmt_nfkc", user_defined_symbols=(), control_symbols=() with special_tokens=() before
      them, byte_fallback=False, hard_vocab_limit=True, input_format="text" or "tsv"; of "unigram" also
      seed_sentencepiece_size=1000000, seed_sentencepieces_file=None,
      shrinking_factor=0.75, num_sub_iterations=2, m_step="digamma" or "counts", token_cost=6.0, explain=None (told of
      each round, a `Round`). Pieces and scores are the same as sentencepiece's, except for "unigram".

    Long trainings ("bbpe", "bpe", "wordpiece", "unigram", "sp-bpe") also have state=None (a file to which the training
    is saved), state_every=1000 (merges; for "unigram" 1, rounds), resume=False, and max_memory=None (bytes, beyond
    which words and their positions are in memory-mapped files): see `tokkit.trainers.resumable.Resumable`.

    The classes of the models in `tokkit.trainers` document the order of ids.

    >>> tok = train(iter(["low lower lowest", "low low"]), vocab_size=258)
    >>> [tok.vocab[id_] for id_ in (256, 257)]
    [b'lo', b'low']
    >>> train({"hug": 10, "pug": 5, "hugs": 5}, model="word").encode("hug pug bug")
    [1, 3, 0]
    >>> tok = train({"hug": 10, "bug": 4}, model="hybrid", vocab_size=10)
    >>> [tok.vocab[id_] for id_ in tok.encode("hug gub")]
    [b'hug', b'g', b'##u', b'##b']
    """
    training = options_of(model, dict(options))
    given = vocab_size if isinstance(vocab_size, Sequence) and not isinstance(vocab_size, str) else None
    sizes = [integer("vocab_size", size) for size in ([vocab_size] if given is None else given)]
    training.check_sizes(sizes, vocab_size)
    workers = 1 if getattr(training, "in_order", False) else thread_count(threads)
    unit = unit or training.unit
    with Reporter(progress) as report:
        count = training.counter()
        sampled, bound = getattr(training, "sampled", None), getattr(training, "max_memory", None)
        if getattr(training, "state", None) is not None:
            object.__setattr__(training, "source", identity(source, unit=unit, field=field, input_errors=input_errors))
        if getattr(training, "resumes", False):
            counts = WordCounts()
        elif isinstance(source, Mapping):
            _check_counted(training)
            parts = parts_of(getattr(training, "boundaries", []))
            counts = words_of(source, as_text=training.as_text, parts=parts)
            if model == "char":
                counts = words_of(_characters(counts), as_text=True)
        elif isinstance(source, CountFiles):
            _check_counted(training)
            counts = source.table(training)
        elif isinstance(source, Mixture):
            counts = source.table(
                training, unit=unit, field=field, input_errors=input_errors, threads=workers, report=report
            )
        else:
            tables = not getattr(training, "weighted", False)  # else a .tsv too is text
            corpus = Corpus(source, unit=unit, field=field, errors=input_errors, tables=tables)
            read = corpus if sampled is None else sampled(corpus)
            try:
                if count is None:
                    counts = WordCounts()
                elif bound is not None and training.counting() is not None:
                    counts = bounded_words(read, count, training, bound, threads=workers, report=report)
                else:
                    counts = count_words(read, count, threads=workers, report=report)
            except OverflowError as error:
                raise CorpusError(f"the corpus is too large to train from at once: {error}") from None
        made = [Tokenizer(definition) for definition in training.definitions(counts, sizes, report, workers)]
    return made[0] if given is None else made


def _check_counted(training: Training) -> None:
    """Raise OptionError for an option that a source of word counts cannot have."""
    for name, default in (("input_sentence_size", 0), ("input_format", "text")):
        if getattr(training, name, default) != default:
            raise OptionError(f"{name} applies to lines of text; the source is word counts")


def _characters(counts: WordCounts) -> dict[str | bytes, int]:
    return {chr(code): times for code, times, _ in counts.characters()}
