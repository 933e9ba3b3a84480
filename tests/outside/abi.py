"""The C ABI breaks no program that was compiled against api/loom.abi, and tools/abi.py finds the changes that would."""

import importlib.util
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CHANGES = [  # (what is replaced in loom.h, by what, whether it breaks a program)
    ("  uint64_t min_tokens;", "  uint32_t min_tokens;", True),
    ("  uint64_t seed;", "  uint64_t inserted;\n  uint64_t seed;", True),
    ("}; /* loom_step */", "  int32_t in_the_padding;\n}; /* loom_step */", True),
    ("}; /* loom_step */", "  uint64_t added;\n  int32_t more;\n}; /* loom_step */", False),
    ("}; /* loom_session_options */", "  uint64_t added;\n}; /* loom_session_options */", False),
    ("loom_retain(loom_handle handle)", "loom_retain(int32_t handle)", True),
    ("(*loom_on_progress)(void* user, double fraction)", "(*loom_on_progress)(void* user, float fraction)", True),
    ("LOOM_API loom_status loom_release(loom_handle handle);", "", True),
    ("LOOM_API loom_status loom_retain", "LOOM_API loom_status loom_more(int32_t x);\nLOOM_API loom_status loom_retain", False),
]


def main():
    spec = importlib.util.spec_from_file_location("abi", ROOT / "tools/abi.py")
    abi = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(abi)
    if not abi.installed():
        return abi.SKIPPED
    header, faults = abi.header(), []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        old = folder / "old.abi"
        old.write_text(abi.dumped(folder, header))
        for before, after, wanted in CHANGES:
            if header.count(before) != 1:
                faults.append(f"loom.h has {header.count(before)} times {before!r}")
                continue
            broken, words = abi.compared(folder, header.replace(before, after), old)
            if broken != wanted:
                faults.append(f"{after!r} in place of {before!r}: expected {'a' if wanted else 'no'} break; {words}")
        broken, words = abi.compared(folder, header)
        if broken:
            faults.append(words)
    print("\n".join(faults) or f"no program breaks; {len(CHANGES)} changes were classified")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
