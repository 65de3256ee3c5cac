"""Benchmarks of tokkit beside other libraries: `python -m benchmarks.bench_encode --help`. See README.md.

`python -m` puts the working directory first on the path. Where that is a source tree that was not compiled in
place, the installed tokkit is the one to measure, so the tree is taken off the path.
"""

import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
if not [*_ROOT.glob("tokkit/_core/_shared.*.so"), *_ROOT.glob("tokkit/_core/_shared.*.pyd")]:
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != _ROOT]
