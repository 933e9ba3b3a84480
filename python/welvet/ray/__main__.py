"""The program `python -m welvet.ray`."""

from __future__ import annotations

import argparse
import json
import sys

from .._native import LoomError


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m welvet.ray",
        description="Loom over the workers of a Ray cluster, with the bits of one process.",
        epilog="docs/tutorial-ray.md shows what else the package does.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    train = commands.add_parser(
        "train", help="train a network by a config, as `loom train` does",
        description="Trains a network by a config. Its shards are divided over the workers; the weights are those of "
                    "`loom train CONFIG`, whatever the number of workers and whether some are lost.")
    train.add_argument("config", metavar="CONFIG", help='a JSON file; "shards" in it is 2 or more')
    train.add_argument("--workers", type=int, default=2, metavar="N", help="processes, a thread each (default: 2)")
    train.add_argument("-o", "--output", metavar="FOLDER", help="of the run (default: beside the config, .run)")
    start = train.add_mutually_exclusive_group()
    start.add_argument("--resume", action="store_true", help="go on from the folder's checkpoint where there is one")
    start.add_argument("--overwrite", action="store_true", help="begin anew in a folder that holds a run")
    train.add_argument("--epochs", type=int, metavar="N", help="in place of the config's")
    train.add_argument("--address", help="of a cluster (default: RAY_ADDRESS, one that runs here, or a new local one)")
    train.add_argument("--store", type=int, default=200, metavar="MB",
                       help="shared memory of a new local cluster (default: 200)")
    train.add_argument("--json", action="store_true", help="print the outcome as one JSON object")
    train.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    given = _parser().parse_args(arguments)
    try:
        from . import train  # pylint: disable=import-outside-toplevel  # --help does without Ray
    except ImportError as error:
        print(error, file=sys.stderr)
        return 1
    try:
        run = train(given.config, given.workers, out=given.output, epochs=given.epochs, address=given.address,
                    store=given.store * 1_000_000, progress=False if given.quiet else None,
                    start="resume" if given.resume else "overwrite" if given.overwrite else "fresh")
    except KeyboardInterrupt:
        print("welvet.ray: stopped; --resume goes on from the checkpoint", file=sys.stderr)
        return 130
    except (LoomError, OSError, RuntimeError, ValueError) as error:
        text = error.text if isinstance(error, LoomError) else str(error)
        print(f"welvet.ray: {' '.join(text.split())}", file=sys.stderr)
        return 1
    if given.json:
        print(json.dumps(run.outcome))
    else:
        lost = run.outcome["lost_workers"]
        print(f"{run!r}\nhash {run.hash}" + (f"\n{lost} workers were lost and replaced" if lost else ""))
    return 0 if run.stop_reason != "diverged" else 1


if __name__ == "__main__":
    sys.exit(main())
