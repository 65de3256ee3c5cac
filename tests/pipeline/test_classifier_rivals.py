"""Random classifiers, saved by transformers, give the scores, ranks, labels and entities of the other libraries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from extras import extra
from model_folders import WORDS
from tokkit import pipeline

pytestmark = pytest.mark.parity
SIZES = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 100}
DISTIL = {"dim": 48, "n_layers": 2, "n_heads": 4, "hidden_dim": 100}
MODERN = SIZES | {
    "pad_token_id": 0, "bos_token_id": 2, "cls_token_id": 2, "sep_token_id": 3, "eos_token_id": 3, "local_attention": 8,
    "global_attn_every_n_layers": 2,
}  # fmt: skip
EURO = SIZES | {
    "num_key_value_heads": 2, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2, "mask_token_id": 4,
}  # fmt: skip
QUERY = "the river bank"
DOCUMENTS = [
    "a cat sat on the mat.", "money", "", "The river sat, the bank sats on money. " * 9, "unknown words of the cats",
    "naïve café", "bank bank river",
]  # fmt: skip
TAGS = (("O", "B-PER", "I-PER", "B-LOC", "I-LOC"), ("NOUN", "O", "PRE-X", "I-NOUN"))
TEXT = "The cats sat on a river, mating the naïve bank;  money of a cat. "


def wordpieces(folder: Path, transformers: Any) -> int:
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    transformers.BertTokenizer.from_pretrained(folder, model_max_length=32).save_pretrained(folder)
    return len(WORDS)


def byte_pairs(folder: Path, transformers: Any) -> int:
    from tokenizers import ByteLevelBPETokenizer

    made = ByteLevelBPETokenizer()
    made.train_from_iterator([TEXT, *DOCUMENTS], 290, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    made.save_model(str(folder))
    transformers.RobertaTokenizer.from_pretrained(folder, model_max_length=32).save_pretrained(folder)
    return made.get_vocab_size()


def unigrams(folder: Path, transformers: Any) -> int:
    letters = sorted(set(TEXT.replace(" ", "▁") + "".join(DOCUMENTS).replace(" ", "▁")))
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁the", "▁cat", "▁bank", "ank", "▁riv", "er", "▁m", *letters[3:]]
    vocab = [(piece, -float(i)) for i, piece in enumerate(dict.fromkeys([*pieces, "<mask>"]))]
    transformers.XLMRobertaTokenizer(vocab=vocab, model_max_length=32).save_pretrained(folder)
    return len(vocab) + 2


CASES: list[tuple[str, Callable[[Path, Any], int], dict[str, Any]]] = [
    ("Bert", wordpieces, SIZES),
    ("DistilBert", wordpieces, DISTIL),
    ("MPNet", wordpieces, SIZES),
    ("Roberta", byte_pairs, SIZES | {"type_vocab_size": 1}),
    ("XLMRoberta", unigrams, SIZES),
    ("Camembert", unigrams, SIZES),
    ("Electra", wordpieces, SIZES | {"embedding_size": 48}),
    ("ModernBert", wordpieces, MODERN | {"classifier_pooling": "mean", "classifier_activation": "silu"}),
    ("ModernBert", wordpieces, MODERN | {"classifier_bias": True, "norm_bias": True}),
    ("Gte", wordpieces, SIZES | {"type_vocab_size": 2}),
    ("NomicBert", wordpieces, SIZES),
    ("Electra", wordpieces, SIZES | {"embedding_size": 20}),
    ("EuroBert", byte_pairs, EURO),
    ("EuroBert", byte_pairs, EURO | {"classifier_pooling": "bos"}),
]


def saved(folder: Path, case: int, task: str, labels: tuple[str, ...], **options: Any) -> Path:
    transformers, torch = extra("transformers"), extra("torch")
    transformers.logging.set_verbosity_error()
    name, tokenizer, sizes = CASES[case]
    numbered = {"id2label": dict(enumerate(labels)), "label2id": {label: i for i, label in enumerate(labels)}}
    torch.manual_seed(case)
    config = getattr(transformers, f"{name}Config")(
        vocab_size=tokenizer(folder, transformers), max_position_embeddings=36, **sizes, **numbered, **options
    )
    config.initializer_range = 0.25
    model = getattr(transformers, f"{name}For{task}Classification")(config).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.data += 0.2 * torch.randn_like(parameter)
    model.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("case", range(len(CASES)), ids=[name for name, _, _ in CASES])
def test_scores_and_ranks_are_those_of_sentence_transformers(tmp_path: Path, case: int) -> None:
    folder = saved(tmp_path, case, "Sequence", ("score",))
    theirs, ours = extra("sentence_transformers").CrossEncoder(str(folder), device="cpu"), pipeline.load(folder)
    pairs = [(QUERY, document) for document in DOCUMENTS] + [(DOCUMENTS[3], QUERY)]
    identity = extra("torch").nn.Identity()
    assert np.abs(ours.predict(pairs, activation_fn="identity")
                  - theirs.predict(pairs, activation_fn=identity)).max() < 1e-4  # fmt: skip
    assert np.abs(ours.predict(pairs) - theirs.predict(pairs)).max() < 1e-5
    assert abs(ours.predict(pairs[0]) - theirs.predict(pairs[0])) < 1e-5
    for options in ({}, {"top_k": 2, "return_documents": True}, {"prompt": "a cat "}):
        expected, found = theirs.rank(QUERY, DOCUMENTS, **options), ours.rank(QUERY, DOCUMENTS, **options)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert one.pop("score") == pytest.approx(other.pop("score"), abs=1e-5)
            assert one == other
    theirs.save(str(tmp_path / "again"))
    again = pipeline.load(tmp_path / "again")
    assert np.abs(again.predict(pairs) - theirs.predict(pairs)).max() < 1e-5


@pytest.mark.parametrize("case", [0, 3, 4], ids=("Bert", "Roberta", "XLMRoberta"))
def test_scores_of_several_labels_are_those_of_the_other_libraries(tmp_path: Path, case: int) -> None:
    folder = saved(tmp_path, case, "Sequence", ("yes", "no", "maybe"))
    theirs, ours = extra("sentence_transformers").CrossEncoder(str(folder), device="cpu"), pipeline.load(folder)
    pairs = [(QUERY, document) for document in DOCUMENTS]
    assert np.abs(ours.predict(pairs) - theirs.predict(pairs)).max() < 1e-4
    assert np.abs(ours.predict(pairs, apply_softmax=True) - theirs.predict(pairs, apply_softmax=True)).max() < 1e-5
    transformers = extra("transformers")
    classify = transformers.pipeline("text-classification", model=str(folder))
    for text in (QUERY, DOCUMENTS[0], ""):
        for options in ({"top_k": None}, {"top_k": 2, "function_to_apply": "sigmoid"}):
            expected, found = classify(text, **options), ours.classify(text, **options)
            assert [one["label"] for one in found] == [one["label"] for one in expected]
            assert [one["score"] for one in found] == pytest.approx([one["score"] for one in expected], abs=1e-5)
    expected = classify({"text": QUERY, "text_pair": DOCUMENTS[0]}, top_k=1)
    assert ours.classify([QUERY], [DOCUMENTS[0]])[0][0]["score"] == pytest.approx(expected[0]["score"], abs=1e-5)


@pytest.mark.filterwarnings("ignore:Tokenizer does not support real words")
@pytest.mark.parametrize(
    ("case", "tags"), [(0, 0), (0, 1), (1, 0), (2, 1), (3, 0), (4, 1), (5, 0), (7, 1), (9, 0), (12, 1)]
)
def test_entities_are_those_of_transformers(tmp_path: Path, case: int, tags: int) -> None:
    folder = saved(tmp_path, case, "Token", TAGS[tags])
    transformers, ours, counts = extra("transformers"), pipeline.load(folder), set()
    theirs = transformers.pipeline("token-classification", model=str(folder))
    short, long = TEXT[:24], TEXT * 5
    for strategy in ("none", "simple", "first", "average", "max"):
        for text, options in ((short, {}), (long, {"stride": 0}), (long, {"stride": 5})):
            if strategy == "none" and options:
                continue
            options |= {"aggregation_strategy": strategy, "ignore_labels": ["O", "PER"]}
            expected, found = theirs(text, **options), ours.entities(text, **options)
            counts.add(len(found))
            assert len(found) == len(expected)
            for one, other in zip(found, expected, strict=True):
                assert one.pop("score") == pytest.approx(other.pop("score"), abs=1e-5)
                assert one == other
    if case in (0, 4):  # words that are given as such
        for strategy in ("simple", "average"):
            (expected,) = theirs(TEXT.split(), is_split_into_words=True, aggregation_strategy=strategy, stride=3)
            found = ours.entities(TEXT.split(), pretokenized=True, aggregation_strategy=strategy, stride=3)
            assert [one["score"] for one in found] == pytest.approx([one["score"] for one in expected], abs=1e-5)
            assert [{**one, "score": 0} for one in found] == [{**one, "score": 0} for one in expected]
    assert len(counts) > 2


def test_a_decoder_says_yes_as_the_recipe_of_qwen_has_it(tmp_path: Path) -> None:
    """The prompt around a pair, and the probability of yes, as the card of Qwen3-Reranker computes them."""
    transformers, torch = extra("transformers"), extra("torch")
    from tokenizers import ByteLevelBPETokenizer

    from tokkit.pipeline import decoder_reranker

    made = ByteLevelBPETokenizer()
    special = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<think>", "</think>"]
    made.train_from_iterator(["yes no " * 9, *DOCUMENTS], 290, special_tokens=special)
    made.save(str(tmp_path / "tokenizer.json"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    torch.manual_seed(0)
    config = transformers.Qwen3Config(
        vocab_size=300, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=16,
        intermediate_size=64, max_position_embeddings=1024, initializer_range=0.2, eos_token_id=None, bos_token_id=None,
    )  # fmt: skip
    model = transformers.Qwen3ForCausalLM(config).eval()
    model.save_pretrained(tmp_path)
    ours = decoder_reranker.DecoderReranker(pipeline.load(tmp_path))
    yes, no = (tokenizer.convert_tokens_to_ids(word) for word in ("yes", "no"))
    expected = []
    for document in DOCUMENTS:
        asked = f"<Instruct>: {decoder_reranker.INSTRUCTION}\n<Query>: {QUERY}\n<Document>: {document}"
        ids = [i for part in (decoder_reranker.BEFORE, asked, decoder_reranker.AFTER)
               for i in tokenizer.encode(part, add_special_tokens=False)]  # fmt: skip
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0, -1]
        expected.append(torch.log_softmax(logits[[no, yes]], dim=0)[1].exp().item())
    assert np.abs(ours.predict([(QUERY, document) for document in DOCUMENTS]) - expected).max() < 1e-5
    assert np.ptp(expected) > 1e-3


GROUPED = SIZES | {"num_key_value_heads": 2, "head_dim": 12}
DECODERS: dict[str, dict[str, Any]] = {
    "Llama": GROUPED, "Qwen2": GROUPED, "Qwen3": GROUPED, "Mistral": GROUPED | {"sliding_window": 5}, "Gemma": GROUPED,
    "Phi3": SIZES, "GPT2": {"n_embd": 48, "n_layer": 2, "n_head": 4},
}  # fmt: skip


@pytest.mark.parametrize("pad", [1, 2])  # a token of its own, or the one at the end of each text
@pytest.mark.parametrize("name", DECODERS)
def test_scores_of_decoders_are_those_of_transformers(tmp_path: Path, name: str, pad: int) -> None:
    transformers, torch = extra("transformers"), extra("torch")
    n = byte_pairs(tmp_path, transformers)
    torch.manual_seed(3)
    config = getattr(transformers, f"{name}Config")(
        vocab_size=n, max_position_embeddings=36, pad_token_id=pad, bos_token_id=0, eos_token_id=2,
        id2label={0: "a", 1: "b", 2: "c"}, label2id={"a": 0, "b": 1, "c": 2}, **DECODERS[name],
    )  # fmt: skip
    config.initializer_range = 0.25
    theirs = getattr(transformers, f"{name}ForSequenceClassification")(config).eval()
    theirs.save_pretrained(tmp_path)
    ours = pipeline.load(tmp_path)
    assert isinstance(ours, pipeline.CrossEncoder)
    pairs = [(QUERY, document) for document in DOCUMENTS if len(document) < 50]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    tokenizer.pad_token_id = pad
    given = tokenizer([a for a, _ in pairs], [b for _, b in pairs], padding=True, return_tensors="pt")
    with torch.no_grad():
        expected = theirs(input_ids=given["input_ids"], attention_mask=given["attention_mask"]).logits.numpy()
    np.testing.assert_allclose(ours.predict(pairs, activation_fn="identity"), expected, atol=1e-4)
    pipeline.quantize(tmp_path, tmp_path / "p", precision="int8")
    assert np.corrcoef(pipeline.load(tmp_path / "p").predict(pairs).ravel(), expected.ravel())[0, 1] > 0.95
