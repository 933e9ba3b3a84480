"""welvet.ray: one hash for any number of workers, lost ones included. Exit 77 where there is no Ray: skipped."""

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))

if importlib.util.find_spec("ray") is None:
    print(f"SKIPPED: {sys.executable} has no Ray; tools/requirements-test.txt has it")
    sys.exit(77)

os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "python"), str(pathlib.Path(__file__).parent)])
FLAGS = tempfile.TemporaryDirectory()
os.environ["WELVET_TEST_FLAG"] = os.path.join(FLAGS.name, "died")  # before there are workers, who inherit it
os.environ["WELVET_TEST_ELSEWHERE"] = FLAGS.name
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

import numpy  # noqa: E402
import ray  # noqa: E402
import ray_actors  # noqa: E402
import welvet  # noqa: E402
import welvet.ray  # noqa: E402
from welvet.ray import _crew, _evolution, _training  # noqa: E402

SPIRALS = ROOT / "examples" / "training" / "spirals.json"


def config(**more):
    """The spirals of the examples, in 6 shards."""
    return {**json.loads(SPIRALS.read_text()), "shards": 6, "epochs": 3, **more}


def double(network):
    """The fitness of a network: minus the distance of what it makes of a one and a two from 3."""
    return -abs(float(network([[1, 2]])[0, 0]) - 3)


def judge_that_dies_once(flag):
    """The same, but the first worker that is asked ends."""

    def judge(network):
        with contextlib.suppress(FileExistsError):
            pathlib.Path(flag).touch(exist_ok=False)
            os._exit(7)
        return double(network)

    return judge


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ray.init(
            address="local",
            num_cpus=5,
            object_store_memory=200_000_000,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
        )

    @classmethod
    def tearDownClass(cls):
        ray.shutdown()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class Training(Case):
    def train(self, workers, given=None, **more):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            run = welvet.ray.train(given or config(), workers, folder=SPIRALS.parent, **more)
        return run, said.getvalue()

    def test_any_number_of_workers_gives_the_hash_of_one_process(self):
        whole = welvet.train(config(), folder=SPIRALS.parent, out=self.folder / "whole", progress=False)
        for workers in (1, 2, 5):
            run, _ = self.train(workers, out=self.folder / str(workers), progress=False)
            self.assertEqual((run.hash, run.losses), (whole.hash, whole.losses), workers)
            journal = self.folder / str(workers) / "journal.jsonl"
            self.assertEqual(journal.read_text(), (self.folder / "whole" / "journal.jsonl").read_text())
        self.assertEqual(
            {p.name for p in (self.folder / "5").iterdir()}, {p.name for p in (self.folder / "whole").iterdir()}
        )
        self.assertEqual(welvet.replay(self.folder / "2", progress=False)["hash"], whole.hash)

    def test_a_worker_that_exits_in_a_step_is_replaced(self):
        whole = welvet.train(config(), folder=SPIRALS.parent, progress=False)
        flag = pathlib.Path(os.environ["WELVET_TEST_FLAG"])
        flag.unlink(missing_ok=True)
        self.addCleanup(setattr, _training, "Replica", _training.Replica)
        _training.Replica = ray_actors.Once
        run, said = self.train(5, out=self.folder / "run")
        self.assertTrue(flag.exists())
        self.assertEqual(run.hash, whole.hash)
        self.assertEqual(run.outcome["lost_workers"], 1)
        self.assertRegex(said, r"worker \d of 5 is lost; a new one does its work again")
        self.assertIn("epoch 3 of 3: loss", said)
        lines = [json.loads(line) for line in (self.folder / "run" / "workers.jsonl").read_text().splitlines()]
        self.assertEqual([(line["event"], line["workers"], line["step"]) for line in lines], [("lost", 5, 5)])
        self.assertRegex(lines[0]["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertIn(f"worker {lines[0]['worker']} of 5 is lost", said)

    def test_a_worker_that_is_killed_is_replaced(self):
        whole = welvet.train(config(), folder=SPIRALS.parent, progress=False)
        crews, make = [], _crew.Crew.__init__

        def kept(crew, *args, **more):
            make(crew, *args, **more)
            crews.append(crew)

        self.addCleanup(setattr, _crew.Crew, "__init__", make)
        _crew.Crew.__init__ = kept

        def kill(about):
            if about["event"] == "batch_end" and about["epoch"] == 1 and about["batch"] == 2:
                ray.kill(crews[-1].actors[1])

        run, said = self.train(2, progress=kill)
        self.assertEqual(run.hash, whole.hash)
        self.assertEqual(run.outcome["lost_workers"], 1)
        self.assertIn("worker 2 of 2 is lost", said)

    def test_a_worker_that_always_dies_is_an_error(self):
        self.addCleanup(setattr, _training, "Replica", _training.Replica)
        _training.Replica = ray_actors.Always
        with self.assertRaises(welvet.ray.LostWorkersError):
            self.train(1, progress=False)

    def test_a_worker_with_other_data_ends_the_run(self):
        self.addCleanup(setattr, _training, "Replica", _training.Replica)
        _training.Replica = ray_actors.Stranger
        with self.assertRaisesRegex(ValueError, "a worker reads other data than this process"):
            self.train(2, progress=False)

    def test_workers_that_all_read_other_data_than_this_process_end_the_run(self):
        data = (SPIRALS.parent / "spirals.csv").read_text().splitlines()
        pathlib.Path(FLAGS.name, "spirals.csv").write_text("\n".join([data[0], *data[:0:-1]]) + "\n")
        self.addCleanup(setattr, _training, "Replica", _training.Replica)
        _training.Replica = ray_actors.Elsewhere
        with self.assertRaisesRegex(ValueError, "a worker reads other data than this process"):
            self.train(2, progress=False)

    def test_a_run_goes_on_with_other_workers(self):
        whole = welvet.train(config(), folder=SPIRALS.parent, progress=False)
        out = self.folder / "run"
        first, _ = self.train(5, out=out, progress=lambda about: about["event"] != "batch_end" or about["epoch"] < 1)
        self.assertEqual(first.stop_reason, "stopped")
        self.assertEqual(self.train(2, out=out, start="resume", progress=False)[0].hash, whole.hash)

    def test_what_cannot_be_divided_is_refused_before_there_is_a_folder(self):
        with self.assertRaisesRegex(welvet.LoomError, "shards: expected 2 or more"):
            self.train(2, config(shards=1), out=self.folder / "run")
        with self.assertRaisesRegex(welvet.LoomError, "lbfgs"):
            self.train(2, config(optimizer={"name": "lbfgs"}), out=self.folder / "run")
        with self.assertRaisesRegex(ValueError, "6 workers need 6 CPUs: the cluster has 5"):
            self.train(6)
        self.assertFalse((self.folder / "run").exists())

    def test_an_exception_of_the_progress_ends_the_run(self):

        def stop(about):
            if about["event"] == "batch_end":
                raise ZeroDivisionError("enough")

        with self.assertRaisesRegex(ZeroDivisionError, "enough"):
            self.train(2, progress=stop)

    def test_workers_without_room_are_told_and_gone_on_without(self):

        @ray.remote(num_cpus=4)
        class Full:
            def stand(self):
                return True

        full = Full.remote()
        ray.get(full.stand.remote())
        said, heard = io.StringIO(), []
        with contextlib.redirect_stderr(said):
            crew = _crew.Crew(
                2, _training.Replica, json.dumps(config()), str(SPIRALS.parent), patience=4, tell=heard.append
            )
            self.addCleanup(crew.close)
            while not heard:
                infos = crew.run("info", [()] * 3)
        ray.kill(full)
        self.assertEqual([info["shards"] for info in infos], [6] * 3)
        self.assertEqual([about["event"] for about in heard], ["given_up"])
        self.assertRegex(said.getvalue(), r"no room for worker \d of 2 for 4 seconds; 1 go on without it")

    def test_nodes_are_the_tree_s(self):
        self.assertEqual(_training.nodes_of(0, 8, 8), [(0, 8)])
        self.assertEqual(_training.nodes_of(1, 6, 8), [(1, 1), (2, 2), (4, 2)])
        self.assertEqual(_training.nodes_of(0, 5, 5), [(0, 5)])
        self.assertEqual(_training.nodes_of(4, 7, 7), [(4, 3)])
        self.assertEqual(_training.nodes_of(2, 5, 5), [(2, 2), (4, 1)])


class Populations(Case):
    def population(self, seed):
        base = welvet.Network({"seed": 1, "layers": [{"type": "dense", "input_height": 2, "output_height": 1}]})
        return welvet.Population(base, (1, 2), population=6, seed=seed, mutation={"node_rate": 0})

    def test_islands_become_what_they_become_in_one_process(self):
        alone, divided = [self.population(s) for s in (1, 2)], [self.population(s) for s in (1, 2)]
        for _ in range(3):
            expected = [p.evolve(double) for p in alone]
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            reports = welvet.ray.evaluate(divided, judge_that_dies_once(str(self.folder / "flag")), 3, generations=3)
        self.assertEqual(reports, expected)
        self.assertEqual([p.best().hash() for p in divided], [p.best().hash() for p in alone])
        self.assertEqual([p.snapshot() for p in divided], [p.snapshot() for p in alone])
        self.assertIn("is lost", said.getvalue())

    def test_an_exception_of_the_judge_is_the_caller_s(self):
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            welvet.ray.evaluate(self.population(1), lambda network: 1 / 0)

    def test_fitness_is_never_told_to_another_generation(self):
        people, networks = self.population(1), []

        def network_after_tell(place):
            if not networks:
                people.tell([0.0] * len(people.ask()))
            networks.append(type(people).network(people, place))
            return networks[-1]

        people.network = network_after_tell
        with self.assertRaisesRegex(welvet.LoomError, "InvalidState: another call of tell"):
            welvet.ray.evaluate(people, double)
        self.assertEqual(people.info["generation"], 1)


class Evolutions(Case):
    CONFIG = {
        "task": {"name": "spirals", "points": 24, "score": "squared_error"},
        "population": 12,
        "islands": 3,
        "migrate_every": 2,
        "generations": 4,
        "seed": 3,
        "novelty": {"weight": 0.2},
        "network": {
            "seed": 1,
            "layers": [
                {"type": "dense", "input_height": 2, "output_height": 8, "bias": True, "activation": "tanh"},
                {"type": "dense", "input_height": 8, "output_height": 1, "bias": True, "activation": "sigmoid"},
            ],
        },
    }

    def test_islands_of_a_config_become_what_they_become_in_one_process(self):
        whole = welvet.evolve(self.CONFIG, out=self.folder / "whole")
        for workers in (1, 2, 5):
            outcome = welvet.ray.evolve(self.CONFIG, workers, out=self.folder / str(workers))
            self.assertEqual((outcome["hash"], outcome["best"]), (whole["hash"], whole["best"]), workers)
            self.assertEqual((outcome["workers"], outcome["lost_workers"]), (workers, 0))
            for name in ("lineage.jsonl", "best.entity"):
                self.assertEqual(
                    (self.folder / str(workers) / name).read_bytes(), (self.folder / "whole" / name).read_bytes()
                )

    def test_a_judge_that_exits_is_replaced_and_told(self):
        whole = welvet.evolve(self.CONFIG)
        pathlib.Path(os.environ["WELVET_TEST_FLAG"]).unlink(missing_ok=True)
        self.addCleanup(setattr, _evolution, "Referee", _evolution.Referee)
        _evolution.Referee = ray_actors.OnceReferee
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            outcome = welvet.ray.evolve(self.CONFIG, 2, out=self.folder / "run")
        self.assertEqual((outcome["hash"], outcome["lost_workers"]), (whole["hash"], 1))
        (line,) = [json.loads(text) for text in (self.folder / "run" / "workers.jsonl").read_text().splitlines()]
        self.assertEqual((line["event"], line["judged"]), ("lost", 0))
        self.assertIn("is lost; a new one does its work again", said.getvalue())

    def test_a_run_that_was_stopped_goes_on(self):
        whole = welvet.evolve(self.CONFIG)
        out = self.folder / "run"
        welvet.ray.evolve(self.CONFIG, 2, out=out, progress=lambda about: about["done"] < 2)
        self.assertEqual(welvet.ray.evolve(self.CONFIG, 1, out=out, start="resume")["hash"], whole["hash"])

    def test_what_is_wrong_with_a_config_is_the_engine_s_error(self):
        with self.assertRaisesRegex(welvet.LoomError, "population"):
            welvet.ray.evolve({**self.CONFIG, "population": 0}, 2, out=self.folder / "run")
        self.assertFalse((self.folder / "run").exists())


class Datasets(Case):
    def test_outputs_are_those_of_one_process(self):
        if importlib.util.find_spec("pyarrow") is None or importlib.util.find_spec("pandas") is None:
            self.skipTest("no ray[data]")
        net = welvet.Network({"seed": 3, "layers": [{"type": "dense", "input_height": 4, "output_height": 3}]})
        x = numpy.random.default_rng(1).normal(size=(300, 4)).astype(numpy.float32)
        net.save(self.folder / "net.entity")
        data = ray.data.from_numpy(x).rename_columns({"data": "x"})
        mapped = welvet.ray.map(data, self.folder / "net.entity", inputs="x", outputs="y", workers=2, batch_size=64)
        rows = mapped.take_all()
        found = {row["x"].tobytes(): row["y"] for row in rows}
        self.assertEqual(len(found), 300)
        for row, y in zip(x, net(x)):
            self.assertEqual(found[row.tobytes()].astype(numpy.float32).tobytes(), y.tobytes())


class Program(unittest.TestCase):
    def run_it(self, *arguments, **more):
        return subprocess.run(
            [sys.executable, "-m", "welvet.ray", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            **more,
        )

    def test_it_starts_a_cluster_and_says_what_loom_train_says(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "spirals.json")
            path.write_text(json.dumps(config()))
            pathlib.Path(folder, "spirals.csv").write_bytes((SPIRALS.parent / "spirals.csv").read_bytes())
            whole = welvet.train(config(), folder=folder, progress=False)
            done = self.run_it("train", str(path), "--workers", "2", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout)["hash"], whole.hash)
            self.assertTrue(pathlib.Path(folder, "spirals.run", "model.entity").exists())
            again = self.run_it("train", str(path), "--workers", "2")
            self.assertEqual((again.returncode, again.stdout), (1, ""))
            self.assertEqual(len(again.stderr.splitlines()), 1, again.stderr)

    def test_help_and_a_missing_ray(self):
        self.assertIn("--workers", self.run_it("train", "--help").stdout)
        hidden = self.run_it("train", "x.json", env={**os.environ, "PYTHONPATH": self.without_ray()})
        self.assertEqual((hidden.returncode, hidden.stderr), (1, "welvet.ray needs ray: pip install welvet[ray]\n"))

    def without_ray(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        pathlib.Path(folder.name, "ray.py").write_text("raise ImportError('no ray')\n")
        return os.pathsep.join([folder.name, str(ROOT / "python")])

    def test_ctrl_c_leaves_a_run_that_goes_on(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "spirals.json")
            path.write_text(json.dumps(config(epochs=2000)))
            pathlib.Path(folder, "spirals.csv").write_bytes((SPIRALS.parent / "spirals.csv").read_bytes())
            with subprocess.Popen(
                [sys.executable, "-m", "welvet.ray", "train", str(path)], stderr=subprocess.PIPE, text=True
            ) as process:
                line = process.stderr.readline()
                self.assertIn("epoch 1 of 2000", line)
                process.send_signal(signal.SIGINT)
                rest = process.stderr.read()
                self.assertEqual(process.wait(60), 130, rest)
            self.assertIn("--resume goes on", rest)
            self.assertNotIn("Traceback", rest)
            self.assertTrue(pathlib.Path(folder, "spirals.run", "checkpoint.entity").exists())


class Checks(unittest.TestCase):
    def test_what_cannot_be_divided_is_refused_before_a_cluster_starts(self):
        with unittest.mock.patch.object(_training, "connect", side_effect=AssertionError("a cluster starts")):
            for more in ({"shards": 1}, {"tween": {}}):
                with self.subTest(more), self.assertRaises(welvet.LoomError):
                    welvet.ray.train(config(**more), folder=SPIRALS.parent)

    def test_the_tutorials_first_command_names_a_config_with_shards(self):
        text = (ROOT / "docs" / "guide" / "tutorial-ray.md").read_text()
        path = re.search(r"python -m welvet.ray train (\S+)", text).group(1)
        self.assertGreater(json.loads((ROOT / path).read_text())["shards"], 1)


class Tutorial(Case):
    def test_every_block_runs(self):
        text = (ROOT / "docs" / "guide" / "tutorial-ray.md").read_text()
        blocks = re.findall(r"```python\n(.*?)```", text, re.S)
        self.assertEqual(len(blocks), 4)
        names, printed = {"__name__": "tutorial"}, io.StringIO()
        (self.folder / "spirals.csv").write_bytes((SPIRALS.parent / "spirals.csv").read_bytes())
        (self.folder / "spirals.json").write_bytes(SPIRALS.read_bytes())
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            for number, block in enumerate(blocks):
                with self.subTest(block=number):
                    exec(compile(block, f"block {number} of the tutorial", "exec"), names)


if __name__ == "__main__":
    unittest.main()
