"""Runs every block of docs/guide/tutorial-python.md and of the pages that PAGES names, one after the other, in a folder with the
models that they name."""

import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
MODEL = pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
PAGES = ["bytes", "clustering", "matches", "sampling", "structured", "tiles", "windows"]
MINILM = pathlib.Path(os.environ["LOOM_DATA"], "minilm")


class Tutorial(unittest.TestCase):
    def test_every_block_runs_and_prints_what_it_says(self):
        text = (ROOT / "docs" / "guide" / "tutorial-python.md").read_text()
        blocks = re.findall(r"```python\n(.*?)```", text, re.S)
        self.assertGreater(len(blocks), 8)
        names, printed = {"__name__": "tutorial"}, io.StringIO()
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(printed):
            pathlib.Path(MODEL.name).symlink_to(MODEL)
            pathlib.Path("minilm").symlink_to(MINILM)
            for number, block in enumerate(blocks):
                with self.subTest(block=number):
                    exec(compile(block, f"block {number} of the tutorial", "exec"), names)
        for said in (
            "<welvet.Network network: grid 1 x 1 x 1 x 2, 82 weights>",
            "The capital of France is Paris. 99554f0d",
            "/layers/0/type",
            "cosine 0.6660",
            "forward layers.1 dense",
            "<welvet.Graph (input: float32) -> ",
        ):
            self.assertIn(said, printed.getvalue())

    def test_every_block_of_a_guide_prints_the_text_after_it(self):
        pages = [ROOT / "docs" / "guide" / f"{name}.md" for name in PAGES]
        count = 0
        for page in pages:
            blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page.read_text(), re.S)
            for block, expected in blocks:
                with self.subTest(page=page.name), tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
                    pathlib.Path(MODEL.name).symlink_to(MODEL)
                    printed = io.StringIO()
                    with contextlib.redirect_stdout(printed):
                        exec(compile(block, page.name, "exec"), {"__name__": "guide"})
                    self.assertEqual(printed.getvalue(), expected)
                count += 1
        self.assertGreater(count, 4)


if __name__ == "__main__":
    unittest.main()
