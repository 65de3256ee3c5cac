"""Finds the model folder of "org/name" in the Hugging Face hub's cache, or downloads it on request.

It uses huggingface_hub (extra `hub`), with its cache and the variables HF_HOME, HF_ENDPOINT and HF_TOKEN.
"""

from __future__ import annotations

from pathlib import Path

from tokkit.errors import DownloadError

PATTERNS = ["*.json", "*/config.json", "vocab.txt", "merges.txt", "*.model", "*.safetensors", "*/model.safetensors"]
"""Patterns of a model's files to download: no pickles, and no weights in other frameworks' formats."""


OWNER = "sentence-transformers"
"""The owner of models whose name is given without one."""


def find(given: str, *, download: bool = False) -> str:
    """Return the folder of a hub model in the cache; with `download`, missing files are downloaded.

    DownloadError if it is missing, cannot be downloaded, or TOKKIT_OFFLINE forbids it.
    """
    from tokkit.registry import hub
    from tokkit.registry.download import refuse_offline

    name = given if "/" in given else f"{OWNER}/{given}"
    huggingface_hub = hub.library(name, "folder")
    repo, _, revision = name.partition("@")
    if download:
        refuse_offline(name)
        try:
            return str(huggingface_hub.snapshot_download(repo, revision=revision or None, allow_patterns=PATTERNS))
        except Exception as error:  # errors of huggingface_hub, requests, httpx and the system
            said = str(error).strip().splitlines() or [type(error).__name__]
            raise DownloadError(f"{repo}: {said[0]}") from None
    for file in ("config.json", "modules.json"):  # static models may have only the second
        if (found := hub.cached(huggingface_hub, repo, file, revision or None)) is not None:
            return str(Path(found).parent)
    how = "--download, or load(name, download=True)"
    if name != given:
        raise DownloadError(
            f"{given} is not a folder, and {name} is not in the hub's cache; give the path of a folder, or download "
            f"the name with its owner by {how}"
        )
    raise DownloadError(f"{name} is neither a folder nor in the hub's cache; download it with {how}")
