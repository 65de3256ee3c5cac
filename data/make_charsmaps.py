"""Generates tokkit/normalizers/charsmaps/*.z, SentencePiece's normalization rules, from Unicode 17.0.0.

Decompositions and compositions are those of `unicodedata2==16.0.0` and of the one letter with a decomposition that
Unicode 17 has more; case folding is Python's, a character for a character, with what Unicode 17 has more.

    python data/make_charsmaps.py            # writes the maps
    python data/make_charsmaps.py --check    # exit 1 if one on disk puts anything else

A rule is a character that NFKC changes; or a sequence that NFKC makes one character, written in any way: each part of
its decomposition may be any character that NFKC makes that part. A sequence that is composed in part is not a rule.
"""

import argparse
import itertools
import sys
import zlib
from pathlib import Path

from make_normalization_tables import NEW_LOWER

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tokkit" / "normalizers" / "charsmaps"
NEW_NFKC = {"\ua7f1": "S"}
SURROGATES = range(0xD800, 0xE000)
SPACES = (0x09, 0x0A, 0x0C, 0x0D, 0x61C, 0x1680, 0x200B, 0x200C, 0x200E, 0x200F, 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD)
CONTROLS = (*range(0x01, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F)
WIDE_TILDE = "\uff5e"  # which people write for a range, and nmt_ leaves alone


def nfkc() -> dict[str, str]:
    """Return the rules of NFKC."""
    import unicodedata2

    if unicodedata2.unidata_version != "16.0.0":
        raise SystemExit(f"unicodedata2 is of Unicode {unicodedata2.unidata_version}; 16.0.0 is needed")
    points = [chr(c) for c in range(1, 0x110000) if c not in SURROGATES]
    rules = {c: made for c in points if (made := unicodedata2.normalize("NFKC", c)) != c} | NEW_NFKC
    written_as: dict[str, list[str]] = {}
    for source, made in rules.items():
        if len(made) == 1:
            written_as.setdefault(made, []).append(source)
    for c in points:
        parts, made = unicodedata2.normalize("NFKD", c), unicodedata2.normalize("NFKC", c)
        if len(made) == 1 and len(parts) > 1:
            for sequence in itertools.product(*([part, *written_as.get(part, ())] for part in parts)):
                rules["".join(sequence)] = made
    return rules


def fold(c: str) -> str:
    """Return the simple case folding of a character."""
    for folded in (c.casefold(), c.lower()):
        if len(folded) == 1:
            return chr(NEW_LOWER.get(ord(c), ord(folded)))
    return c


def folded(rules: dict[str, str]) -> dict[str, str]:
    """Return rules whose results are folded, with those of characters that folding alone changes."""
    made = {source: "".join(map(fold, target)) for source, target in rules.items()}
    alone = (chr(c) for c in range(1, 0x110000) if c not in SURROGATES)
    return made | {c: other for c in alone if c not in made and (other := fold(c)) != c}


def nmt(rules: dict[str, str]) -> dict[str, str]:
    """Return rules that also bring white space and controls into order."""
    made = rules | dict.fromkeys(map(chr, SPACES), " ") | dict.fromkeys(map(chr, CONTROLS), "")
    del made[WIDE_TILDE]
    return made


def maps() -> dict[str, dict[str, str]]:
    """Return the rules of each normalization by its name."""
    plain = nfkc()
    cf = folded(plain)
    return {"nfkc": plain, "nmt_nfkc": nmt(plain), "nfkc_cf": cf, "nmt_nfkc_cf": nmt(cf)}


def main() -> int:
    """Write the maps, or compare them with those on disk."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    check = parser.parse_args().check
    sys.path.insert(0, str(ROOT))
    from tokkit.normalizers.charsmap_builder import compile_rules

    stale = []
    for name, rules in maps().items():
        path, data = FOLDER / f"{name}.z", compile_rules(rules)
        if check:
            if not path.is_file() or zlib.decompress(path.read_bytes()) != data:
                stale.append(path.name)
        else:
            path.write_bytes(zlib.compress(data, 9))
            print(f"{path.name}: {len(rules)} rules, {len(data)} bytes")
    if stale:
        print(f"made anew, these differ: {', '.join(stale)}")
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
