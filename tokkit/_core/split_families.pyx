"""The table of published split patterns, csrc/split/families.def. Imports no numpy, so that `--help` can list names."""

cdef extern from *:
    """
    #include "split/scan.h"

    typedef struct {
        const char *name, *text; /* a name for users, or where files have this text */
        int scanner;
    } tk_family_row;
    #define TK_FAMILY(id, name, pattern, ...) {name, pattern, TK_SCAN_##id},
    #define TK_SPELLING(id, name, pattern) {name, pattern, TK_SCAN_##id},
    static const tk_family_row tk_family_patterns[] = {
    #include "split/families.def"
    };
    #define TK_IN_FILES(id, where, text) {where, text, TK_SCAN_##id},
    static const tk_family_row tk_family_texts[] = {
    #include "split/families.def"
    };
    enum {
        TK_FAMILY_PATTERNS = sizeof tk_family_patterns / sizeof *tk_family_patterns,
        TK_FAMILY_TEXTS = sizeof tk_family_texts / sizeof *tk_family_texts
    };
    """
    ctypedef struct tk_family_row:
        const char *name
        const char *text
        int scanner
    const tk_family_row *tk_family_patterns
    const tk_family_row *tk_family_texts
    int TK_FAMILY_PATTERNS, TK_FAMILY_TEXTS


cdef list rows(const tk_family_row *table, int n):
    return [(table[i].name.decode(), table[i].text.decode(), table[i].scanner) for i in range(n)]


def patterns() -> list:
    """Return (name, pattern, number of its scanner) of each published pattern."""
    return rows(tk_family_patterns, TK_FAMILY_PATTERNS)


def in_files() -> list:
    """Return (where, text, number of the scanner) of each text that files have instead of the pattern."""
    return rows(tk_family_texts, TK_FAMILY_TEXTS)
