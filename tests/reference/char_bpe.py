"""BPE over the characters of one pretoken by the rules of tokenizers, in quadratic time.

A token is (id, bytes that it covers). The bytes' tokens of a character come before the unknown characters that stand
before it, and a character that is dropped covers nothing: what follows moves up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Token = tuple[int, int]


def symbols(piece: str, ids: Mapping[str, int], options: Mapping[str, object]) -> list[Token]:
    """Return what is there before anything merges; KeyError where the unknown token is needed and absent."""
    prefix, suffix = options.get("continuing_subword_prefix") or "", options.get("end_of_word_suffix") or ""
    unk_token, made, unknown = options.get("unk_token"), [], 0
    for place, character in enumerate(piece):
        spelt = (prefix if place else "") + character + (suffix if place == len(piece) - 1 else "")
        in_bytes = [f"<0x{byte:02X}>" for byte in spelt.encode()]
        if spelt in ids:
            if unknown:
                made.append((ids[str(unk_token)], unknown))
            made.append((ids[spelt], len(character.encode())))
            unknown = 0
        elif options.get("byte_fallback") and all(token in ids for token in in_bytes):
            made += [(ids[token], 1) for token in in_bytes]
        elif unk_token is not None:
            ids[str(unk_token)]
            if unknown and not options.get("fuse_unk"):
                made.append((ids[str(unk_token)], unknown))
                unknown = 0
            unknown += len(character.encode())
    return [*made, (ids[str(unk_token)], unknown)] if unknown else made


def char_bpe(
    piece: str, ids: Mapping[str, int], merges: Sequence[tuple[int, int, int]], **options: object
) -> list[Token]:
    """Return the tokens of one piece; `merges` holds (left, right, result) ids, the first to be merged first."""
    if options.get("ignore_merges") and piece in ids:
        return [(ids[piece], len(piece.encode()))]
    priority = {(left, right): (rank, result) for rank, (left, right, result) in enumerate(merges)}
    made = symbols(piece, ids, options)
    while True:
        pairs = [priority.get((made[i][0], made[i + 1][0])) for i in range(len(made) - 1)]
        candidates = [(pair[0], i, pair[1]) for i, pair in enumerate(pairs) if pair is not None]
        if not candidates:
            return made
        _, i, result = min(candidates)
        made[i : i + 2] = [(result, made[i][1] + made[i + 1][1])]
