"""Makes folders of real tokenizers for from_pretrained: a tokenizer.json of the shared data and a configuration."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

END = "<|endoftext|>"
ENDS = {"bos_token": END, "eos_token": END, "unk_token": END}
CHAT = (
    "{% for m in messages %}{% if m['role'] == 'user' %}{{ '<|user|>\n' + m['content'] + '<|end|>\n' }}"
    "{% elif m['role'] == 'assistant' %}{{ '<|assistant|>\n' }}{% generation %}{{ m['content'] + '<|end|>\n' }}"
    "{% endgeneration %}{% else %}{{ raise_exception('role ' + m['role']) }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>\n' }}{% else %}{{ eos_token }}{% endif %}"
)
CONFIGS: dict[str, dict[str, Any]] = {
    "bert-base-uncased": {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": 512},
    "gpt2": {"tokenizer_class": "GPT2Tokenizer", **ENDS, "model_max_length": 1024, "add_prefix_space": False},
    "roberta-base": {"tokenizer_class": "RobertaTokenizer", "model_max_length": 512},
    "t5": {
        "tokenizer_class": "T5Tokenizer",
        "extra_ids": 100,
        "model_max_length": 512,
        "additional_special_tokens": [f"<extra_id_{i}>" for i in range(100)],
    },
    "mistral-v1": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<unk>"},
    "phi-3": {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": END,
        "pad_token": END,
        "padding_side": "left",
        "chat_template": CHAT,
    },
    "clip": {"tokenizer_class": "CLIPTokenizer", "model_max_length": 77},
    "gpt-neox": {"tokenizer_class": "PreTrainedTokenizerFast", **ENDS, "pad_token": "<|padding|>"},
}


def write(shared: Path, folder: Path, name: str, **config: Any) -> Path:
    """Write the folder of one tokenizer; `config` overrides its configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(shared / "vocabs" / name / "tokenizer.json", folder)
    text = json.dumps({**CONFIGS[name], **config})
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
    return folder
