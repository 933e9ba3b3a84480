#!/usr/bin/env python3
"""Golden values of welvet.bridge: what models of a framework become, and what they answer:
tests/golden/planets/FRAMEWORK.json and .npz.

usage: bridge.py FRAMEWORK [FOLDER]      FRAMEWORK: torch, keras, jax or sklearn, which the interpreter has to have
(and numpy, and WELVET_LIBRARY set)

The models stand in tests/python/bridge/models_FRAMEWORK.py. FRAMEWORK.json is {"made_by", "versions", "specs"}: the
spec of each case by its name.
FRAMEWORK.npz holds CASE/x, CASE/y as the framework computed it, and CASE/weight/NAME, all uncompressed.
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "python" / "bridge"))

import test_frameworks

if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    test_frameworks.write(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else ROOT / "tests" / "golden" / "planets")
