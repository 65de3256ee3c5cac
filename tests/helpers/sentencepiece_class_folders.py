"""Makes folders of tokenizer classes from vocabularies trained on our corpus, and compares them with transformers."""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import json
import logging
import os
import random
import shutil
import sys
import types
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import strategies
import tokkit
from extras import extra
from tokkit.errors import TokkitError
from tokkit.registry.tokenizer_classes import folder as folders
from tokkit.registry.tokenizer_classes import sentencepiece_rows, translation_rows
from tokkit.registry.tokenizer_classes.row import Row
from tokkit.registry.tokenizer_classes.table import CLASSES

os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = extra("transformers", minversion="5.24")

TEXTS = (
    "Hello  world! don't stop—now", "  lead and trail  ", "Café NAÏVE ﬁne ① ｶﾞ 한국어 你好 世界 12345", "a\tb\nc\r\n d",
    "<s> x</s>y <mask> z [MASK]w [CLS]<pad>", "``quoted'' text \u0301e", "", "   ", "🦜 emoji 👨\u200d👩\u200d👧 ok",
    "x <extra_id_0> y <|endoftext|>z en_XX eng_Latn __eng__ <a> <b>q<c> [D]", "ÀÉÎ àéî ŒœĲ ＜s＞", ">>fra<< 1,234.5%",
)  # fmt: skip
ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
RULES = ("content", "lstrip", "rstrip", "single_word", "normalized", "special")
NAMES = sorted(
    name
    for name, row in CLASSES.items()
    if not row.refused
    and name not in ("TokenizersBackend", "ParakeetTokenizer")
    and (row.scripted is None or name in {**sentencepiece_rows.ROWS, **translation_rows.ROWS})
)
"""The classes whose files `write_files` makes."""


def vocabularies(folder: Path) -> Path:
    """Train a vocabulary of each kind into a folder."""
    root = Path(__file__).parents[2] / "data/corpus"
    names = ("english", "german", "french", "code", "greek", "numbers-and-symbols", "white-space", "emoji-and-chat")
    corpus = [(root / f"{name}.txt").read_text(encoding="utf-8") for name in names]
    # A text of an iterator is one sentence.
    whole, part = "\n".join(corpus).split("\n"), "\n".join(corpus[:2]).split("\n")
    tokkit.train(iter(whole), model="unigram", vocab_size=2000).save(folder / "uni.model")
    tokkit.train(iter(part), model="unigram", vocab_size=800).save(folder / "other.model")
    tokkit.train(iter(whole), model="sp-bpe", vocab_size=2000, byte_fallback=True).save(folder / "bpe.model")
    tokkit.train(iter(corpus), model="wordpiece", vocab_size=2000).save(folder / "vocab.txt")
    (folder / "pair").mkdir()
    tokkit.train(iter(corpus), model="bbpe", vocab_size=900).save(folder / "pair", format="gpt2")
    return folder


def write_files(row: Row, folder: Path, source: Path) -> None:
    """Copy the vocabulary files of a class."""
    pieces = [piece.decode() for piece in tokkit.load(source / "uni.model").definition.vocab]
    for argument, name in row.files.items():
        if name.endswith((".model", ".spm")):
            which = "other" if argument == "target_spm" else "bpe" if row.model == "BPE" else "uni"
            shutil.copy(source / f"{which}.model", folder / name)
        elif name == "vocab.txt":
            shutil.copy(source / name, folder)
        elif name in ("vocab.json", "target_vocab.json") and row.model == "":
            step = 3 if argument == "target_vocab_file" else 2
            tokens = dict.fromkeys(["<s>", "<pad>", "</s>", "<unk>", ">>fra<<", *pieces[3::step]])
            (folder / name).write_text(json.dumps({token: id_ for id_, token in enumerate(tokens)}), encoding="utf-8")
        elif name == "dict.txt":
            (folder / name).write_text("".join(f"{piece} 1\n" for piece in pieces[5::3]), encoding="utf-8")
        elif (source / "pair" / name).is_file():
            shutil.copy(source / "pair" / name, folder)


def stated(name: str) -> dict[str, Any]:
    """Return the contents of a tokenizer_config.json that names a class."""
    return {"tokenizer_class": name, **({"tags_dict": {"a": 0}} if name == "MarkupLMTokenizer" else {})}


@contextlib.contextmanager
def with_packages() -> Iterator[None]:
    """Let transformers load classes that only import a package that they do not use, and say nothing."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    missing = importlib.util.find_spec("rjieba") is None
    if missing:
        sys.modules["rjieba"] = types.ModuleType("rjieba")
        sys.modules["rjieba"].__spec__ = importlib.machinery.ModuleSpec("rjieba", None)
    try:
        yield
    finally:
        logging.disable(before)
        if missing:
            del sys.modules["rjieba"]


def token(rng: random.Random, text: str) -> Any:
    """Return a token of a configuration: its text, or an object with random rules."""
    if rng.random() < 0.5:
        return text
    return {"__type": "AddedToken", "content": text, "single_word": False, **_rules(rng)}


def _rules(rng: random.Random) -> dict[str, bool]:
    return {rule: rng.random() < 0.4 for rule in ("lstrip", "rstrip", "normalized", "special")}


def settings(rng: random.Random, row: Row) -> dict[str, Any]:
    """Return random arguments."""
    made: dict[str, Any] = {}
    choices: dict[str, Any] = {
        **dict.fromkeys(("add_bos_token", "add_eos_token", "add_prefix_space", "do_lower_case"), (True, False)),
        **dict.fromkeys(("tokenize_chinese_chars", "trim_offsets", "legacy", "remove_space"), (True, False)),
        **dict.fromkeys(("strip_accents", "keep_accents"), (True, False, None)),
        "extra_ids": (0, 5, 100), "src_lang": ("fr_XX", "fra_Latn", "fr", "fra", "java", "en_XX"),
        "tgt_lang": ("de_DE", "deu_Latn", "de", "deu", "python"),
        "model_max_length": (5, 10**30), "clean_text": (False,),
        "padding_side": ("left", "right"), "unk_id": (0, 2), "split_by_punct": (True,), "legacy_behaviour": (True,),
        "normalize": (True,), "language_codes": ("wmt21",), "do_upper_case": (True,), "offset": (0, 10),
        "wordpieces_prefix": ("##", "@@"), "predict_timestamps": (True,), "language": ("fr",), "task": ("transcribe",),
    }  # fmt: skip
    for key, values in choices.items():
        known = key in row.arguments or (row.languages is not None and key in ("src_lang", "tgt_lang"))
        if rng.random() < (0.25 if known or key.startswith("add_") else 0.02):
            made[key] = rng.choice(values)
    for role in ROLES:
        if rng.random() < 0.12:
            made[role] = token(rng, rng.choice(("<a>", "<b>", "[D]", "<s>", "the", "<pad>", "[UNK]", "<mask>")))
    if rng.random() < 0.2:
        listed = [token(rng, text) for text in rng.sample(["<c>", "<d>", "x y", "<s>"], rng.randint(0, 3))]
        key = rng.choice(("extra_special_tokens", "additional_special_tokens"))
        made[key] = (
            listed if key[0] == "a" or rng.random() < 0.6 else {f"n{i}_token": one for i, one in enumerate(listed)}
        )
    if rng.random() < 0.1:
        made["image_token"] = "<c>"
    return made


def older_files(rng: random.Random, folder: Path, n: int) -> None:
    """Write files of older versions: added_tokens.json and special_tokens_map.json."""
    if rng.random() < 0.2:
        ids = {text: n + i + rng.randint(0, 1) * i for i, text in enumerate(rng.sample(["<c>", "<x>", "<a>"], 2))}
        (folder / "added_tokens.json").write_text(json.dumps(ids), encoding="utf-8")
    if rng.random() < 0.2:
        tokens = {
            role: token(rng, rng.choice(("<a>", "<s>", "<pad>", "[UNK]", "<mask>"))) for role in rng.sample(ROLES, 2)
        }
        if rng.random() < 0.5:
            tokens["additional_special_tokens"] = ["<b>", "<c>"]
        (folder / "special_tokens_map.json").write_text(json.dumps(tokens), encoding="utf-8")


def loaded_there(folder: Path, asked: dict[str, Any]) -> Any:
    """Return the tokenizer of transformers, or the exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return transformers.AutoTokenizer.from_pretrained(str(folder), **asked)
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            return error


def loaded_here(folder: Path, asked: dict[str, Any]) -> Any:
    """Return what our table builds, or the exception."""
    try:
        return folders.load(folder, asked=asked)
    except TokkitError as error:
        return error


def _ids_there(real: Any, is_bare: bool, *texts: str, add: bool = True) -> list[int]:
    if is_bare:
        return list(real._tokenizer.encode(*texts, add_special_tokens=add).ids)
    return list(real(*texts, add_special_tokens=add)["input_ids"])


def differences(real: Any, built: Any, texts: Sequence[str], *, decodes: bool = True) -> list[Any]:
    """Return where a class of ours differs from the one of transformers: ids, decoded text, tokens and roles."""
    ours, found = tokkit.Tokenizer(built.definition), []
    is_bare = bool(built.row.inputs_too) and "entit" not in built.row.inputs_too and hasattr(real, "_tokenizer")
    is_slow = not hasattr(real, "_tokenizer")
    if type(real).__name__ != built.name:
        return [("class", built.name, type(real).__name__)]
    for text in texts:
        for pair, add in (((), True), ((), False), (("b c",), True)):
            try:
                wanted = _ids_there(real, is_bare, text, *pair, add=add)
            except BaseException:  # the real one gives up there
                continue
            try:
                got = ours(text, *pair, special="all", truncation=None, padding=None, add_special=add).ids
            except TokkitError as error:
                found.append(("raises", text, str(error)[:200]))
                continue
            if got != wanted:
                found.append(("ids", text, pair, add, got[:16], wanted[:16]))
            elif decodes and add and not pair and not built.row.groups_repeats:  # the face leaves repeats out
                for skip in (False, True):
                    decoded = ours.decode(got, skip_special=skip)
                    try:
                        plain = real._decode(got, skip_special_tokens=skip, clean_up_tokenization_spaces=False)
                    except IndexError:  # Marian's target has no such piece
                        continue
                    if decoded != plain:
                        found.append(("decode", skip, decoded, plain))
    if built.name != "PLBartTokenizer":  # it forgets its own tokens there
        rules = RULES[:4] if is_slow else RULES  # the others say there what is never asked
        mine = {t.id: tuple(getattr(t, rule) for rule in rules) for t in built.definition.added_tokens}
        theirs = {i: tuple(getattr(t, rule) for rule in rules) for i, t in real.added_tokens_decoder.items()}
        ids = sorted(mine.keys() | theirs.keys())
        found += [("added", i, mine.get(i), theirs.get(i)) for i in ids if mine.get(i) != theirs.get(i)]
    roles = {role: str(value) for role, value in built.roles.items() if value is not None}
    if roles != {role: str(value) for role, value in real.special_tokens_map.items()}:
        found.append(("roles", roles, real.special_tokens_map))
    extra_here, extra_there = ([str(t) for t in tokens] for tokens in (built.extra, real._extra_special_tokens))
    if extra_here != extra_there:
        found.append(("extra", extra_here, extra_there))
    return found


def random_case(seed: int, root: Path, source: Path, names: list[str]) -> tuple[str, list[Any]]:
    """Make one random folder, and return its description and the differences; [] also where either refuses it."""
    rng = random.Random(seed)
    name = rng.choice(names)
    row = CLASSES[name]
    folder = root / f"{seed}"
    folder.mkdir()
    write_files(row, folder, source)
    config = stated(name)
    how = rng.choice(("files", "files", "saved", "saved again", "of another class"))
    if how == "of another class":
        other = rng.choice(names)
        write_files(CLASSES[other], folder, source)
        config = stated(other)
    if how != "files":
        (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
        real = loaded_there(folder, {})
        if isinstance(real, BaseException):
            return f"{seed} {name}: not loaded there", []
        real.save_pretrained(folder)
        config = stated(name)
        if how == "saved again":
            config = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    given = settings(rng, row)
    asked: dict[str, Any] = {}
    if rng.random() < 0.3:
        asked = {key: given.pop(key) for key in list(given) if not isinstance(given[key], (dict, list))}
    if rng.random() < 0.3:
        config["tokenizer_class"] = name + "Fast"
    if rng.random() < 0.15:
        start = rng.choice((900, 2000, 3000, 5000))
        config["added_tokens_decoder"] = {
            str(start + 3 * i): {"content": text, "single_word": False, **_rules(rng)}
            for i, text in enumerate(("<x>", "<a>"))
        }
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, **given}), encoding="utf-8")
    if how != "saved again":
        older_files(rng, folder, 2000)
    real, built = loaded_there(folder, asked), loaded_here(folder, asked)
    label = f"{seed} {name} {how} {given} {asked}"
    if isinstance(built, Exception):
        return label + (f" refused here: {built}" if not isinstance(real, BaseException) else ""), []
    if isinstance(real, BaseException):
        return label + f" refused there: {real!r:.100}", []
    texts = (*rng.sample(TEXTS, 5), strategies.adversarial(seed, 60))
    # tokenizers decodes a token to its normalized text if it was ever added with `normalized`.
    given_texts = [path.read_text(encoding="utf-8") for path in folder.glob("*_*.json")]
    decodes = not any('"normalized": true' in text for text in given_texts) or row.scripted is not None
    return label, differences(real, built, texts, decodes=decodes)
