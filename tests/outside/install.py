"""Another project builds a C and a C++ program against Loom: by find_package, by pkg-config, by add_subdirectory.

  install.py BUILD_FOLDER find_package|pkg_config|add_subdirectory

The first two install the build into a folder, which is then moved: nothing in it may name where it was. Each program asks the README's
question. add_subdirectory compiles the engine once more, which takes minutes: by itself it is configured only, and built with
LOOM_OUTSIDE=whole in the environment.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ANSWER = "The capital of France is Paris.\nhash 99554f0d"
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
{found}
add_executable(ask_c {root}/examples/c/ask.c)
set_target_properties(ask_c PROPERTIES C_STANDARD 90 C_EXTENSIONS OFF)
target_link_libraries(ask_c PRIVATE Loom::loom)
add_executable(ask_cpp {root}/examples/cpp/ask.cpp)
target_compile_features(ask_cpp PRIVATE cxx_std_17)
target_link_libraries(ask_cpp PRIVATE Loom::loom)
"""


def run(*command, **environment):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.returncode}\n{done.stdout[-6000:]}{done.stderr}")
    return done.stdout


def asks(*programs, **environment):
    model = pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
    for program in programs:
        answer = run(program, model, "What is the capital of France?", **environment)
        if not answer.startswith(ANSWER):
            raise SystemExit(f"{program}: {answer}")
        print(f"{program.name}: {answer}")


def installed(build, folder):
    """The prefix, moved after it was laid out."""
    for component in ("library", "development"):
        run("cmake", "--install", build, "--prefix", folder / "first", "--component", component)
    (folder / "first").rename(folder / "prefix")
    for path in (folder / "prefix").rglob("*"):
        if path.is_file() and path.suffix in (".cmake", ".pc", ".h", ".hpp"):
            for place in (str(ROOT), str(build), str(folder)):
                if place in path.read_text():
                    raise SystemExit(f"{path} names {place}")
    return folder / "prefix"


def configured(folder, found, *options):
    (folder / "CMakeLists.txt").write_text(PROJECT.format(found=found, root=ROOT))
    run("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Release", *options)
    return folder / "build"


def built(folder):
    run("cmake", "--build", folder)
    asks(folder / "ask_c", folder / "ask_cpp")


def find_package(build, folder):
    prefix = installed(build, folder)
    built(configured(folder, "find_package(Loom 0.1 REQUIRED)", f"-DCMAKE_PREFIX_PATH={prefix}"))
    (folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(u LANGUAGES C)\n"
                                           "find_package(Loom 0.9 QUIET)\nif(Loom_FOUND)\n  message(FATAL_ERROR)\nendif()\n")
    run("cmake", "-S", folder, "-B", folder / "newer", f"-DCMAKE_PREFIX_PATH={prefix}")


def pkg_config(build, folder):
    if not shutil.which("pkg-config"):
        print("SKIPPED: pkg-config is not installed")
        return 77
    prefix = installed(build, folder)
    flags = run("pkg-config", "--cflags", "--libs", "loom", PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig")).split()
    run("cc", "-std=c89", ROOT / "examples/c/ask.c", *flags, "-o", folder / "ask_c")
    run("c++", "-std=c++17", ROOT / "examples/cpp/ask.cpp", *flags, "-o", folder / "ask_cpp")
    asks(folder / "ask_c", folder / "ask_cpp", LD_LIBRARY_PATH=str(prefix / "lib"))


def add_subdirectory(_, folder):
    # One instruction set: what is tested is how the build behaves inside another one.
    made = configured(folder, f"add_subdirectory({ROOT} loom EXCLUDE_FROM_ALL)\nif(TARGET loom OR TARGET core_test)\n"
                      "  message(FATAL_ERROR \"programs and tests were not asked for\")\nendif()", "-DLOOM_TARGETS=scalar")
    if os.environ.get("LOOM_OUTSIDE") == "whole":
        built(made)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        return globals()[sys.argv[2]](build, pathlib.Path(folder).resolve()) or 0


if __name__ == "__main__":
    sys.exit(main())
