"""Generates tokkit/_core/csrc/text/{normalization,grapheme}_tables.h from Unicode 16.0.0 and character_classes.txt.

Decompositions, compositions and combining classes are those of `unicodedata2==16.0.0`; lower case is Python's, with
what Unicode 17 has more; the classes of tokenizers and of grapheme clusters are in character_classes.txt.

    python data/make_normalization_tables.py            # writes the headers
    python data/make_normalization_tables.py --check    # exit 1 if a header on disk differs
"""

import argparse
import sys
from pathlib import Path

from make_unicode_tables import HEADER, UNICODE_VERSION, c_array

FOLDER = HEADER.parent
CLASSES = Path(__file__).resolve().parent / "character_classes.txt"
LIMIT = 0x110000
BLOCK = 128
HANGUL = range(0xAC00, 0xD7A4)
JAMO_SECOND = (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))  # what composes with the jamo or syllable before it
FORMS = ("NFD", "NFC", "NFKD", "NFKC")

# UnicodeData.txt 17.0.0, simple lower case that Unicode 14.0.0 (Python 3.11) has not.
NEW_LOWER = {
    **{0x1C89: 0x1C8A, 0xA7CB: 0x264, 0xA7CC: 0xA7CD, 0xA7CE: 0xA7CF, 0xA7D2: 0xA7D3, 0xA7D4: 0xA7D5, 0xA7DA: 0xA7DB},
    **{0xA7DC: 0x19B},
    **{c: c + 0x20 for c in range(0x10D50, 0x10D66)},
    **{c: c + 0x1B for c in range(0x16EA0, 0x16EB9)},
}
QUICK = (*FORMS, "LOWER", "MARK", "NONSPACING", "OTHER")
CLUSTER = (
    "OTHER",
    "CR",
    "LF",
    "CONTROL",
    "EXTEND",
    "ZWJ",
    "REGIONAL",
    "PREPEND",
    "SPACING",
    "L",
    "V",
    "T",
    "LV",
    "LVT",
)
CLUSTER_FLAGS = {"pictographic": 16, "consonant": 32, "linker": 64}
PAIR_BITS = 11


def classes() -> dict[str, set[int]]:
    """Return the code points of each class of character_classes.txt."""
    found: dict[str, set[int]] = {}
    for line in CLASSES.read_text(encoding="ascii").splitlines():
        name, _, ranges = line.partition(": ")
        for part in ranges.split() if name and name[0] != "#" else ():
            first, _, last = part.partition("-")
            found.setdefault(name, set()).update(range(int(first, 16), int(last or first, 16) + 1))
    return found


def two_stages(values: list[int]) -> tuple[list[int], list[int]]:
    """Return (number of each block of BLOCK values, the distinct blocks one after another)."""
    seen: dict[tuple[int, ...], int] = {}
    index = [seen.setdefault(tuple(values[i : i + BLOCK]), len(seen)) for i in range(0, LIMIT, BLOCK)]
    return index, [value for block in seen for value in block]


class Table:
    """C arrays for a function of the code point: tk_NAME_index and tk_NAME_block."""

    def __init__(self, name: str, values: list[int]) -> None:
        index, block = two_stages(values)
        index_type = "uint8_t" if max(index) < 256 else "uint16_t"
        block_type = "uint8_t" if max(block) < 256 else "uint16_t"
        self.arrays = [(f"{index_type} tk_{name}_index", index), (f"{block_type} tk_{name}_block", block)]


def declarations(arrays: list[tuple[str, list[int]]]) -> str:
    """Return extern declarations of arrays."""
    return "\n".join(f"extern const {name}[{len(values)}];" for name, values in arrays)


def definitions(arrays: list[tuple[str, list[int]]]) -> str:
    """Return the arrays themselves."""
    return "\n\n".join(f"const {name}[{len(values)}] = {{\n{c_array(values)}\n}};" for name, values in arrays)


def normalization() -> str:
    """Return the text of normalization_tables.h."""
    import unicodedata2 as ucd

    if ucd.unidata_version != UNICODE_VERSION:
        raise SystemExit(f"unicodedata2 is {ucd.unidata_version}; {UNICODE_VERSION} is wanted")
    named = classes()
    pairs: dict[tuple[int, int], int] = {}
    for c in range(LIMIT):
        parts = ucd.decomposition(chr(c)).split()
        if len(parts) == 2 and parts[0][0] != "<" and ucd.normalize("NFC", chr(c)) == chr(c):
            pairs[int(parts[0], 16), int(parts[1], 16)] = c
    seconds = {second for _, second in pairs} | set(JAMO_SECOND)

    pool = [0]  # strings of code points, each after its length; place 0 is none
    places: dict[str, int] = {}

    def place(text: str, itself: int) -> int:
        if text == chr(itself) or itself in HANGUL:
            return 0
        if text not in places:
            places[text] = len(pool)
            pool.extend([len(text), *map(ord, text)])
        return places[text]

    records: dict[tuple[int, ...], int] = {}
    record_of, quick = [], []
    for c in range(LIMIT):
        character = chr(c)
        surrogate = 0xD800 <= c < 0xE000
        forms = [character if surrogate else ucd.normalize(form, character) for form in FORMS]
        combining = ucd.combining(character)
        unsettled = 0  # forms that change the character, or may with one before it
        for bit, text in enumerate(forms):
            if text != character or (bit & 1 and c in seconds):
                unsettled |= 1 << bit
        lowered = chr(NEW_LOWER[c]) if c in NEW_LOWER else character.lower()
        record = (combining, unsettled, place(forms[0], c), place(forms[2], c), place(lowered, c))
        record_of.append(records.setdefault(record, len(records)))
        flags = 15 if combining else unsettled
        members = (lowered != character, *(c in named[name] for name in ("mark", "nonspacing", "other")))
        quick.append(flags | sum(16 << i for i, member in enumerate(members) if member))
    assert max(pool) < 1 << 21
    assert len(pool) < 65536

    slots = [0] * (3 << PAIR_BITS)
    for (first, second), composed in pairs.items():
        slot = ((first * 0x9E3779B1 ^ second * 0x85EBCA6B) & 0xFFFFFFFF) >> (32 - PAIR_BITS)
        while slots[3 * slot]:
            slot = (slot + 1) % (1 << PAIR_BITS)
        slots[3 * slot : 3 * slot + 3] = first, second, composed

    arrays = [*Table("quick", quick).arrays, *Table("record", record_of).arrays]
    arrays += [("uint32_t tk_pool", pool), ("uint32_t tk_pairs", slots)]
    bits = ", ".join(f"TK_QUICK_{name} = {1 << bit}" for bit, name in enumerate(QUICK))
    rows = "\n".join("    {" + ",".join(map(str, record)) + "}," for record in records)
    return f"""/* Forms and lower case of code points: made by data/make_normalization_tables.py, do not edit */
#ifndef TK_NORMALIZATION_TABLES_H
#define TK_NORMALIZATION_TABLES_H
#include <stdint.h>

enum {{ TK_NORMALIZATION_BLOCK = {BLOCK}, TK_PAIR_BITS = {PAIR_BITS} }};

/* A byte of tk_quick: what may change the character. MARK, NONSPACING and OTHER as tokenizers 0.23 has them. */
enum {{ {bits} }};

typedef struct {{
    uint8_t combining, unsettled;          /* combining class; forms that change it, or may with one before it */
    uint16_t canonical, compatible, lower; /* places in tk_pool: a length, then code points; 0 is none */
}} tk_record;

extern const tk_record tk_records[{len(records)}];
/* tk_pairs: first, second, what they compose to; open addressing, an empty slot has first 0. */
{declarations(arrays)}

#ifdef TK_NORMALIZATION_TABLES_HERE /* one file holds them */
const tk_record tk_records[{len(records)}] = {{
{rows}
}};

{definitions(arrays)}
#endif

#endif
"""


def graphemes() -> str:
    """Return the text of grapheme_tables.h."""
    named = classes()
    number = {name: i for i, name in enumerate(CLUSTER)}
    values = [0] * LIMIT
    kinds = {"leading": "L", "vowel": "V", "trailing": "T"}
    for name in ("control", "extend", "regional", "prepend", "spacing", *kinds):
        for c in named[name]:
            values[c] = number[kinds.get(name, name.upper())]
    for c in HANGUL:
        values[c] = number["LVT" if (c - HANGUL.start) % 28 else "LV"]
    values[0x0D], values[0x0A], values[0x200D] = number["CR"], number["LF"], number["ZWJ"]
    for name, flag in CLUSTER_FLAGS.items():
        for c in named[name]:
            values[c] |= flag
    arrays = Table("cluster", values).arrays
    kinds_enum = ", ".join(f"TK_CLUSTER_{name} = {i}" for name, i in number.items())
    flags_enum = ", ".join(f"TK_CLUSTER_{name.upper()} = {flag}" for name, flag in CLUSTER_FLAGS.items())
    return f"""/* Parts of code points in clusters: made by data/make_normalization_tables.py, do not edit */
#ifndef TK_GRAPHEME_TABLES_H
#define TK_GRAPHEME_TABLES_H
#include <stdint.h>

enum {{ TK_CLUSTER_BLOCK = {BLOCK} }};
enum {{ {kinds_enum} }};
enum {{ TK_CLUSTER_KIND = 15, {flags_enum} }}; /* flags are beside the kind */

{declarations(arrays)}

#ifdef TK_GRAPHEME_TABLES_HERE /* one file holds them */
{definitions(arrays)}
#endif

#endif
"""


def main() -> None:
    """Write the headers, or compare them with those on disk."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare with the headers on disk")
    check = parser.parse_args().check
    for name, text in (("normalization_tables.h", normalization()), ("grapheme_tables.h", graphemes())):
        if not check:
            (FOLDER / name).write_text(text, encoding="ascii")
        elif (FOLDER / name).read_text(encoding="ascii") != text:
            sys.exit(f"{name} on disk differs")


if __name__ == "__main__":
    main()
