#!/usr/bin/env python3
"""Writes tests/golden/data with numpy 2.4.6, Pillow 13.0.0 and the csv module of Python 3.11, and seeds of the corpora of idx_fuzz and csv_fuzz.

expected.json holds what those packages read back from each file.
"""
import csv
import gzip
import io
import json
import pathlib
import struct

import numpy as np
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests/golden/data"
IDX = {"u1": 0x08, "i1": 0x09, "i2": 0x0B, "i4": 0x0C, "f4": 0x0D, "f8": 0x0E}


def idx(array):
    head = bytes([0, 0, IDX[array.dtype.str[1:]], array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


def write(name, data):
    path = GOLDEN / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def numbers(array):
    return [float(v) for v in np.asarray(array, dtype=np.float32).ravel()]


def idx_files(out, random):
    out["idx"] = {}
    for kind in IDX:
        low = 0 if kind[0] == "u" else -100
        array = (random.random((5, 2, 3)) * 200 + low).astype(kind)
        write(f"{kind}.idx", idx(array))
        out["idx"][kind] = numbers(array)
    labels = np.array([2, 0, 1, 2, 2], dtype="u1")
    write("labels.idx", idx(labels))
    write("labels.idx.gz", gzip.compress(idx(labels), mtime=0))
    write("two_members.gz", gzip.compress(idx(labels)[:7], mtime=0) + gzip.compress(idx(labels)[7:], mtime=0))
    np.save(GOLDEN / "big.npy", np.arange(30, dtype=">f4").reshape(5, 6) / 4)
    np.save(GOLDEN / "fortran.npy", np.asfortranarray(np.arange(30, dtype="<f4").reshape(5, 6) / 4))
    np.save(GOLDEN / "labels.npy", labels.astype("<i8"))
    np.savez(GOLDEN / "pair.npz", x=np.arange(30, dtype="<f4").reshape(5, 6) / 4, t=labels.astype("<i8"))


def csv_files(out):
    names = ["size", "a,b", "say \"so\"", "kind"]
    rows = [["1.5", "-2", "1e3", "cat"], [" 0.1", "+.5", "5.", "dog, large"], ["123456789.123456789", "-0", "1e-40", "cat"],
            ["3.4028234663852886e38", "00012", "0.30000000000000004", "multi\nline"], ["1E+2", "9007199254740993", "16777217", "dog, large"]]
    text = io.StringIO(newline="")
    writer = csv.writer(text)  # RFC 4180: CRLF, quotes where needed
    writer.writerow(names)
    writer.writerows(rows)
    write("quoted.csv", text.getvalue().encode())
    parsed = list(csv.reader(io.StringIO(text.getvalue(), newline="")))
    assert parsed == [names] + rows
    classes = list(dict.fromkeys(row[3] for row in rows))
    inputs = np.array([[float(v) for v in row[:3]] for row in rows]).astype(np.float32)
    inputs[np.abs(inputs) < 2.0 ** -51] = 0  # snapped
    out["csv"] = {"classes": classes, "labels": [classes.index(row[3]) for row in rows], "inputs": numbers(inputs), "records": parsed}
    write("table.csv", b"\xef\xbb\xbf3;1;2\n\n-1;0.5;4\n7;8;9")
    table = np.array([[1, 2], [0.5, 4], [8, 9]])
    out["fit"] = {"mean": numbers(table.mean(0)), "std": numbers(table.std(0)), "whole_mean": float(table.mean()), "whole_std": float(table.std())}


def image_files(out, random):
    y, x = np.mgrid[0:6, 0:5]
    smooth = np.stack([40 * y, 50 * x, 20 * (x + y)], -1).astype(np.uint8)
    noise = random.integers(0, 256, (6, 5, 4), dtype=np.uint8)
    images = {
        "a/rgb.png": Image.fromarray(smooth), "a/alpha.PNG": Image.fromarray(noise), "a/grey.png": Image.fromarray(noise[..., 0]),
        "b/palette.png": Image.fromarray(smooth).quantize(7), "b/smooth.jpg": Image.fromarray(smooth), "b/grey.jpeg": Image.fromarray(smooth[..., 1]),
    }
    out["images"] = {}
    for name, image in images.items():
        path = GOLDEN / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        image.save(path, **({"quality": 95, "subsampling": 0} if "j" in path.suffix else {}))
        read = Image.open(path)
        rgb = read.convert("RGB")
        out["images"][name] = {"rgb": np.asarray(rgb).transpose(2, 0, 1).ravel().tolist(), "grey": np.asarray(rgb.convert("L")).ravel().tolist()}
    (GOLDEN / "folder/b/notes.txt").write_text("passed over\n")


def corpora():
    for name in ["u1", "i2", "f8", "labels"]:
        (ROOT / "fuzz/corpus/idx_fuzz" / f"{name}.idx").write_bytes((GOLDEN / f"{name}.idx").read_bytes())
    for name in ["quoted.csv", "table.csv"]:
        (ROOT / "fuzz/corpus/csv_fuzz" / name).write_bytes(b"\0" + (GOLDEN / name).read_bytes())
    (ROOT / "fuzz/corpus/csv_fuzz/values.csv").write_bytes(b"\x03" + b"1,2,3\n4,5e-7,6\n")


def main():
    random = np.random.default_rng(1)
    out = {"versions": {"numpy": np.__version__, "Pillow": Image.__version__}}
    idx_files(out, random)
    csv_files(out)
    image_files(out, random)
    write("expected.json", (json.dumps(out, indent=1) + "\n").encode())
    corpora()


main()
