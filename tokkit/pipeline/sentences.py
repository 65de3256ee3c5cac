"""`SentenceEncoder`: sentences → vectors on the CPU, without padding, as the model's folder specifies."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokkit import nn
from tokkit.errors import OptionError
from tokkit.pipeline.encoder_model import EncoderModel
from tokkit.pipeline.pooling import pool
from tokkit.pipeline.texts import chosen_prompt, kept_columns, listed, normalise, similarities, with_prompt

if TYPE_CHECKING:
    from tokkit._core.text import Text
    from tokkit.engine.special_tokens import Special
    from tokkit.pipeline.modules import Modules

Floats = NDArray[np.float32]
BATCH_TOKENS = 4096
"""Tokens whose states are in memory at once: 6 MB for 384 columns; each thread computes 256 at a time."""
LARGE_TOKENS = 1024
"""Tokens of a batch after which pages of mapped files are released: reading them again takes 1 % of its time."""
BATCH_TEXTS = 1024
"""Number of texts that are tokenized at once."""
LOG = logging.getLogger(__name__)


class SentenceEncoder(EncoderModel):
    """An encoder model that turns a text into one vector; `tokkit.pipeline.load` creates it from a folder.

    A pickle contains the path of the folder and the options of loading, not the weights.
    """

    def __init__(self, *args: Any, modules: Modules, reload: Callable[[], SentenceEncoder], **options: Any) -> None:
        super().__init__(*args, **options)
        self._modules, self._reload, self._told = modules, reload, False

    def __repr__(self) -> str:
        return (
            f"<SentenceEncoder {self._modules.root.name}: {self.n_layers} layers, {self.dimension} dimensions, "
            f"at most {self.max_length} tokens>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return self._reload, ()

    @property
    def dimension(self) -> int:
        """Columns of a vector."""
        dense = self._modules.dense
        return dense[-1].columns if dense else self._spec.config.dim * len(self._modules.poolings)

    @property
    def prompts(self) -> dict[str, str]:
        """The prompts that the model was trained with: name → text put before each text."""
        return dict(self._modules.prompts)

    def _identifying(self) -> list[Path]:
        # The modules after the encoder are part of the fingerprint too.
        root = self._modules.root
        more = [root / "modules.json", root / "config_sentence_transformers.json"]
        for folder in dict.fromkeys((root, self.folder)):
            more += sorted(folder.glob("sentence_*_config.json"))
        others = dict.fromkeys(self._modules.others)
        more += [path for kind in ("config.json", "*.safetensors") for at in others for path in sorted(at.glob(kind))]
        own = super()._identifying()
        return own + [path for path in more if path.is_file() and path not in own]

    def encode(
        self,
        sentences: Text | Sequence[Text],
        *,
        batch_tokens: int = BATCH_TOKENS,
        normalize: bool = True,
        threads: int | None = None,
        progress: Callable[[int, int], object] | None = None,
        prompt: str | None = None,
        prompt_name: str | None = None,
        truncate_dim: int | None = None,
        special: Special = "all",
    ) -> Floats:
        """Return the vectors (n, dimension) of n texts, float32, in the order given; of one text, (dimension,).

        Only the first `max_length` tokens of a text are read; a warning is logged for the first truncated text. Texts
        are packed without padding, about `batch_tokens` tokens at a time; this number changes results only by rounding.
        `normalize` scales vectors to length 1 (a model with a Normalize module always does, except after truncation by
        `truncate_dim`). `prompt`, or the model's prompt named `prompt_name`, is put before each text; by default the
        model's default prompt, if it has one. `truncate_dim` keeps the first columns, before normalization. `progress`
        is called with (texts done, total). `special` is as in `Tokenizer.encode`; "all" matches other libraries.

        Raises TypeError for values that are not text, OptionError for invalid options.
        """
        if isinstance(batch_tokens, bool) or not isinstance(batch_tokens, int) or batch_tokens < 1:
            raise OptionError(f"batch_tokens is {batch_tokens!r}; it must be an int of at least 1")
        kept = kept_columns(truncate_dim, self.dimension)
        texts, is_one = listed(sentences)
        words = chosen_prompt(prompt, prompt_name, self._modules.prompts, self._modules.default_prompt)
        made = np.empty((len(texts), kept), dtype=np.float32)
        with nn.threads(nn.current_threads() if threads is None else threads):
            for first in range(0, len(texts), BATCH_TEXTS):
                some = texts[first : first + BATCH_TEXTS]
                self._encode_some(some, made[first : first + len(some)], words, special, batch_tokens)
                if progress is not None:
                    progress(first + len(some), len(texts))
        if normalize or (self._modules.normalize and kept == self.dimension):
            normalise(made)
        return made[0] if is_one else made

    def similarity(self, a: ArrayLike, b: ArrayLike) -> Floats:
        """Return (n, m) similarities of vectors a (n, d) and b (m, d), by the measure in the model's folder.

        The default is the cosine; others are dot, and the negated distances euclidean and manhattan.
        """
        return similarities(a, b, self._modules.similarity)

    def _encode_some(self, texts: list[Text], out: Floats, prompt: str, special: Special, batch_tokens: int) -> None:
        texts = with_prompt(texts, prompt)
        packed = self._packer(texts, special=special, threads=nn.current_threads())
        self._tell(packed.lengths)
        without = 0
        if prompt and not self._modules.include_prompt:
            without = self._packer.n_prompt(prompt, special=special)
        n, first = len(texts), 0
        while first < n:
            end = int(np.searchsorted(packed.starts, packed.starts[first] + batch_tokens, side="right")) - 1
            end = min(max(end, first + 1), n)
            a, b = packed.starts[first], packed.starts[end]
            starts = packed.starts[first : end + 1] - a
            types = None if packed.type_ids is None else packed.type_ids[a:b]
            x = self.encoder.embeddings(packed.ids[a:b], starts, types)
            self.encoder.run(x, starts)
            vectors = pool(x, starts, self._modules.poolings, without=without)
            del x  # free it before the next batch
            for layer in self._modules.dense:
                vectors = layer(vectors)
            if self._modules.normalize and out.shape[1] < self.dimension:
                normalise(vectors)  # the model's last module, before truncation
            out[first:end] = vectors[:, : out.shape[1]]
            first = end
            if b - a > LARGE_TOKENS:
                # Reading rows of the table of words loads whole pages.
                self._weights.release()

    def _tell(self, lengths: NDArray[np.int64]) -> None:
        if not self._told and lengths.max(initial=0) > self.max_length:
            self._told = True
            LOG.warning(
                "a text has %d tokens; the model reads only the first %d (this warning is shown once)",
                lengths.max(), self.max_length,
            )  # fmt: skip
