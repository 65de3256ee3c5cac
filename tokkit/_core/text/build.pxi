# How the core was compiled, for bug reports.
cdef extern from *:
    """
    #define TK_TEXT_(...) #__VA_ARGS__
    #define TK_TEXT(...) TK_TEXT_(__VA_ARGS__)
    #if defined(__clang__)
    #define TK_COMPILER "clang " __clang_version__
    #elif defined(__GNUC__)
    #define TK_COMPILER "gcc " __VERSION__
    #elif defined(_MSC_VER)
    #define TK_COMPILER "MSVC " TK_TEXT(_MSC_VER)
    #else
    #define TK_COMPILER "unknown"
    #endif
    #ifndef TK_FLAGS
    #define TK_FLAGS unknown
    #endif
    """
    const char *TK_COMPILER
    const char *TK_FLAGS_TEXT "TK_TEXT(TK_FLAGS)"
    const char *CYTHON_VERSION "CYTHON_ABI"


def build_facts() -> dict:
    """Return the compiler and its version, the flags of setup.py, and Cython's version."""
    return {
        "compiler": TK_COMPILER.decode().strip(),
        "flags": TK_FLAGS_TEXT.decode(),
        "cython": CYTHON_VERSION.decode().replace("_", "."),
    }
