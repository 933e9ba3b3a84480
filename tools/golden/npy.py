#!/usr/bin/env python3
"""Writes tests/golden/npy/*.npy and *.npz with numpy 2.4.6: one element type each, in the versions, byte orders and orders of axes that Loom reads.

Element k in row-major order is k - 2 (unsigned k, bool k odd), half of it for floats, so the test needs no second copy.
"""
import pathlib

import numpy as np

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/npy"
CASES = [  # name, type, shape, Fortran order, version
    ("f2", "<f2", (3,), False, (1, 0)), ("f4", "<f4", (2, 3), False, (1, 0)), ("f8", "<f8", (1, 1, 5), False, (1, 0)), ("i1", "|i1", (0, 4), False, (1, 0)),
    ("i2", "<i2", (7,), False, (1, 0)), ("i4", "<i4", (2, 3, 4), False, (1, 0)), ("i8", "<i8", (), False, (1, 0)), ("u1", "|u1", (130,), False, (1, 0)),
    ("u2", "<u2", (1, 12), False, (1, 0)), ("u4", "<u4", (3, 1), False, (1, 0)), ("u8", "<u8", (2, 2), False, (1, 0)), ("b1", "|b1", (9,), False, (1, 0)),
    ("big_f4", ">f4", (2, 3), False, (1, 0)), ("big_i8", ">i8", (4,), False, (1, 0)), ("fortran_i4", "<i4", (2, 3, 4), True, (1, 0)),
    ("fortran_big_f8", ">f8", (3, 5), True, (1, 0)), ("version2_f4", "<f4", (2, 3), False, (2, 0)), ("version3_u1", "|u1", (3,), False, (3, 0)),
]


def main():
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name, kind, shape, fortran, version in CASES:
        k = np.arange(np.prod(shape, dtype=int))
        letter = kind[1]
        values = k % 2 if letter == "b" else k if letter == "u" else (k - 2) / 2 if letter == "f" else k - 2
        array = np.asarray(values).astype(kind).reshape(shape, order="C")
        if fortran:
            array = np.asfortranarray(array)
        with open(GOLDEN / f"{name}.npy", "wb") as f:
            np.lib.format.write_array(f, array, version=version)
    np.savez(GOLDEN / "two.npz", inputs=np.arange(6, dtype="<f4").reshape(3, 2), targets=np.array([0, 1, 1], dtype="<i8"))
    np.savez_compressed(GOLDEN / "compressed.npz", x=np.zeros(3, dtype="<f4"))
    # Blocks of every kind: bytes that do not shrink are stored, few ones have the fixed codes, many their own.
    np.savez_compressed(
        GOLDEN / "deflated.npz",
        ramp=(np.arange(3000) * 7 % 911).astype("<i4"),
        noise=np.random.default_rng(5).integers(0, 256, 2000).astype("u1"),
        small=np.arange(6, dtype="<f4"),
    )


main()
