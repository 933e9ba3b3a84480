"""The program `python -m welvet.ray`."""

from __future__ import annotations

import argparse
import json
import sys

from .._native import LoomError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._types import Json


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m welvet.ray",
        description="Loom over the workers of a Ray cluster, with the bits of one process.",
        epilog="docs/guide/tutorial-ray.md shows what else the package does.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    train = commands.add_parser(
        "train",
        help="train a network by a config, as `loom train` does",
        description="Trains a network by a config. Its shards are divided over the workers; the weights are those of "
        "`loom train CONFIG`, whatever the number of workers and whether some are lost.",
    )
    train.add_argument("config", metavar="CONFIG", help='a JSON file; "shards" in it is 2 or more')
    train.add_argument("--epochs", type=int, metavar="N", help="in place of the config's")
    evolve = commands.add_parser(
        "evolve",
        help="breed networks by a config, as `loom evolve` does",
        description="Breeds networks by a config, with islands or without. The workers judge them; the hash is that of "
        "`loom evolve CONFIG`, whatever the number of workers and whether some are lost.",
    )
    evolve.add_argument("config", metavar="CONFIG", help="a JSON file")
    evolve.add_argument("--generations", type=int, metavar="N", help="in place of the config's")
    for command, folder in ((train, "beside the config, .run"), (evolve, "none")):
        command.add_argument(
            "--workers", type=int, default=2, metavar="N", help="processes, a thread each (default: 2)"
        )
        command.add_argument("-o", "--output", metavar="FOLDER", help=f"of the run (default: {folder})")
        start = command.add_mutually_exclusive_group()
        start.add_argument(
            "--resume", action="store_true", help="go on from the folder's checkpoint where there is one"
        )
        start.add_argument("--overwrite", action="store_true", help="replace the run that a folder holds")
        command.add_argument(
            "--address", help="of a cluster (default: RAY_ADDRESS, one on this machine, or a new local one)"
        )
        command.add_argument(
            "--store", type=int, default=200, metavar="MB", help="shared memory of a new local cluster (default: 200)"
        )
        command.add_argument("--json", action="store_true", help="print the outcome as one JSON object")
        command.add_argument("-q", "--quiet", action="store_true", help="no progress")
    return parser


def _train(given: argparse.Namespace, common: Json) -> int:
    from . import train  # pylint: disable=import-outside-toplevel  # --help does without Ray

    run = train(given.config, epochs=given.epochs, progress=False if given.quiet else None, **common)
    print(json.dumps(run.outcome) if given.json else f"{run!r}\nhash {run.hash}" + _lost(run.outcome))
    return 0 if run.stop_reason != "diverged" else 1


def _evolve(given: argparse.Namespace, common: Json) -> int:
    from . import evolve  # pylint: disable=import-outside-toplevel

    def tell(about: Json) -> bool:
        print(
            f"welvet.ray: generation {about['done']} of {about['total']}: best {about['best_score']}",
            file=sys.stderr,
            flush=True,
        )
        return True

    outcome = evolve(given.config, generations=given.generations, progress=None if given.quiet else tell, **common)
    print(
        json.dumps(outcome)
        if given.json
        else f"{outcome['generations']} generations, best {outcome['best']} ({outcome['best_id']})\n"
        f"hash {outcome['hash']}" + _lost(outcome)
    )
    return 0


def _lost(outcome: Json) -> str:
    lost = outcome["lost_workers"]
    return f"\n{lost} workers were lost" if lost else ""


def main(arguments: list[str] | None = None) -> int:
    """Runs a command and returns its exit code."""
    given = _parser().parse_args(arguments)
    common = {
        "workers": given.workers,
        "out": given.output,
        "address": given.address,
        "store": given.store * 1_000_000,
        "start": "resume" if given.resume else "overwrite" if given.overwrite else "fresh",
    }
    try:
        return _train(given, common) if given.command == "train" else _evolve(given, common)
    except ImportError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("welvet.ray: stopped; --resume goes on from the checkpoint", file=sys.stderr)
        return 130
    except (LoomError, OSError, RuntimeError, ValueError) as error:
        text = error.text if isinstance(error, LoomError) else str(error)
        print(f"welvet.ray: {' '.join(text.split())}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
