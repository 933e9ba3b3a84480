#!/usr/bin/env python3
"""Streams every model of planetbridging 0.7.3 through a program and prints how many agree with their framework.

    pip install planetbridging==0.7.3 torch     (or tensorflow-cpu, or jax flax, or scikit-learn)
    PLANETBRIDGING_LOOM_STREAM=build/bin/loom-stream python3 tools/bridge/scoreboard.py pytorch

Each model is made, trained and run by planetbridging's own code, which sends its live weights to the program and compares what comes back with what the
framework gave. One line per model: kind (`bedrock`), framework (`planet`), model, layers, verdict, largest difference. --json FILE keeps the rows, `--bedrock NAME` takes one.
"""
import argparse
import contextlib
import io
import json
import sys

from planetbridging import bedrocks, compare, engines
from planetbridging.bedrock_smoke import _load_bedrock_module
from planetbridging._binary import repo_root


def models_of(bedrock):
    """The models that the manifest of a layer kind lists."""
    manifest = _load_bedrock_module(repo_root(), bedrock, "manifest").load_manifest()
    return [model.id for model in manifest.models]


def row(bedrock, planet, model, folder):
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            result = engines.stream(bedrock, planet, model_id=model, out_dir=folder)
    except Exception as error:  # the scoreboard says what failed, and goes on
        return {"bedrock": bedrock, "planet": planet, "model": model, "verdict": "ERROR", "error": str(error)[:300]}
    largest, _, _ = compare.compare_outputs(result.native, result.loom_stream)
    return {"bedrock": bedrock, "planet": planet, "model": model, "verdict": result.native_vs_loom, "largest": largest}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("planet", choices=["pytorch", "tensorflow", "jax", "sklearn"])
    parser.add_argument("--bedrock", action="append")
    parser.add_argument("--json")
    parser.add_argument("--out", default=None, help="folder for the .entity files")
    options = parser.parse_args()
    rows = []
    for bedrock in options.bedrock or bedrocks.BEDROCK_IDS:
        if options.planet not in engines.available_planets(bedrock):
            continue
        for model in models_of(bedrock):
            folder = None
            if options.out:
                import pathlib
                folder = pathlib.Path(options.out) / bedrock
            rows.append(row(bedrock, options.planet, model, folder))
            r = rows[-1]
            print(f"{r['bedrock']:<10} {r['planet']:<10} {r['model']:<28} {r['verdict']:<6} {r.get('largest', r.get('error'))}", flush=True)
    good = sum(r["verdict"] in ("PASS", "EXACT") for r in rows)
    print(f"{good} of {len(rows)} agree")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(rows, file, indent=1)
    sys.exit(0 if good == len(rows) else 1)


main()
