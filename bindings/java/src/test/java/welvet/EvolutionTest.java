package welvet;

import static welvet.Checks.SPEC;
import static welvet.Checks.equal;
import static welvet.Checks.holds;
import static welvet.Checks.refused;
import static welvet.Checks.thrown;
import static welvet.Checks.values;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/** Populations and whole evolutions. */
public class EvolutionTest {
    // By welvet in Python: the sixth and the seventh generation, the best network, a whole run, a child, a mutation.
    private static final String SIXTH_HASH = "3d707e93f8b1e3240e4667e6bf1732511aefa0a17f3a3371e2e24143103a43ee";
    private static final String NEXT_HASH = "56b4127bed1efab963c0fa00c8ccb65039b6d5a17b7c407f62924c8bfccbc207";
    private static final String BEST_HASH = "716adb4139654de492872bee80b666e2ff2546102a37faf1c7f38402a0249d75";
    private static final String RUN_HASH = "27eac0c7837c700c1e45b66e4491ae977edb6da6edf97c6bc1d7bd9577295167";
    private static final String CHILD_HASH = "622452c5866e516d6b2d092ef6adeb3defdd363c05b2283cb159643bdfd414cc";
    private static final String MUTANT_HASH = "8c8445664bc95b3894cf9fc12994a91d56aaed13fe9d164cca762867f5a36446";

    private static final long[] SHAPE = {1, 6};
    private static final String CONFIG = """
        {"population": 10, "seed": 2, "mutation": {"node_rate": 0}}""";
    private static final String RUN = """
        {"task": {"name": "csv", "path": "data.csv", "values": true}, "population": 16, "generations": 4, "seed": 7,
         "network": {"seed": 1, "layers": [
           {"type": "dense", "input_height": 2, "output_height": 4, "activation": "tanh"},
           {"type": "dense", "input_height": 4, "output_height": 1}]}}""";

    private static double judge(Network net) {
        float[] y = net.forward(Tensor.of(SHAPE, 1, 1, 1, 1, 1, 1)).floats();
        double[] targets = {0.25, -0.5, 0.125};
        double sum = 0;
        for (int i = 0; i < targets.length; i++) {
            sum += (y[i] - targets[i]) * (y[i] - targets[i]);
        }
        return -sum;
    }

    private static String hashOf(String report) {
        int place = report.indexOf("\"hash\":\"") + 8;
        return report.substring(place, place + 64);
    }

    public void testPopulationsHaveTheHashesOfPython() {
        for (int threads = 1; threads <= 2; threads++) {
            try (Network base = new Network(SPEC);
                    Population people = new Population(base, SHAPE, CONFIG, Compute.threads(threads))) {
                refused(people::best, ErrorCode.NO_VALUE, "");
                equal(people.ask(), new long[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
                String report = "";
                for (int i = 0; i < 6; i++) {
                    report = people.evolve(EvolutionTest::judge);
                }
                equal(hashOf(report), SIXTH_HASH);
                try (Network best = people.best()) {
                    equal(best.hash(), BEST_HASH);
                    holds(judge(best) > judge(base), people.info());
                }
                holds(people.info().contains("\"generation\":6"), people.info());
                byte[] saved = people.snapshot();
                try (Population again = Population.restore(saved, SHAPE, CONFIG)) {
                    equal(hashOf(again.evolve(EvolutionTest::judge)), NEXT_HASH);
                }
                refused(() -> Population.restore(Arrays.copyOf(saved, saved.length - 1), SHAPE, CONFIG),
                    ErrorCode.CORRUPT_DATA, "");
                refused(() -> Population.restore(saved, SHAPE, CONFIG.replace("10", "12")), ErrorCode.CORRUPT_DATA,
                    "population");
                double[] fitness = Arrays.stream(people.ask()).mapToDouble(place -> judge(people.network(place))).toArray();
                equal(hashOf(people.tell(fitness)), NEXT_HASH);
            }
        }
    }

    public void testExceptionsOfJudgesComeBack() throws Exception {
        Network base = new Network(SPEC);
        Population people = new Population(base, SHAPE, CONFIG);
        int[] judged = {0};
        try {
            people.evolve(net -> {
                if (++judged[0] == 3) {
                    throw new IOException("tired");
                }
                return judge(net);
            });
            throw new AssertionError("the exception is gone");
        } catch (IOException mine) { // a checked one, as the judge declares it
            equal(mine.getMessage(), "tired");
        }
        equal(judged[0], 3);
        List<Network> kept = new ArrayList<>();
        refused(() -> people.evolve(net -> {
            kept.add(net);
            return net.forward(values(1, 1, 5)).floats()[0];
        }), ErrorCode.SHAPE_MISMATCH, "5");
        refused(() -> judge(kept.get(0)), ErrorCode.BAD_HANDLE, "the Network is closed");
        equal(people.ask().length, 10); // as before both
        refused(() -> people.tell(1, 2), ErrorCode.INVALID_ARGUMENT, "10");
        refused(() -> people.network(10), ErrorCode.OUT_OF_RANGE, "10");
        people.tell(1, 2, 3, Double.NaN, Double.NEGATIVE_INFINITY, 6, 7, 8, 9, 0);
        refused(() -> new Population(base, SHAPE, "{\"populations\": 3}"), ErrorCode.UNKNOWN_KEY, "populations");
        refused(() -> new Population(base, new long[] {1, 5}, "{}"), ErrorCode.SHAPE_MISMATCH, "");
        people.close();
        for (Runnable call : List.<Runnable>of(people::ask, people::best, people::info, people::snapshot,
                () -> people.network(0), () -> people.tell(1), () -> people.evolve(EvolutionTest::judge))) {
            refused(call, ErrorCode.BAD_HANDLE, "the Population is closed");
        }
    }

    /** Makes a folder with the data of RUN. */
    private static Path folder() throws IOException {
        Path folder = Files.createTempDirectory("welvet-évolution");
        Files.writeString(folder.resolve("data.csv"), "a,b,y\n0,0,0\n0,1,1\n1,0,1\n1,1,2\n");
        return folder;
    }

    private static void remove(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path path : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }

    public void testEvolutionsByDataAreSavedAndContinued() throws IOException {
        Path folder = folder();
        try {
            List<String> told = new ArrayList<>();
            EvolveOptions options = EvolveOptions.DEFAULT.withFolder(folder.toString());
            String whole = Evolution.run(RUN, options.withProgress(told::add));
            equal(hashOf(whole), RUN_HASH);
            holds(told.size() == 4 && told.get(3).contains("\"done\":4") && told.get(3).contains("best_score"), told);
            String out = folder.resolve("run").toString();
            EvolveOptions fresh = options.withOut(out, EvolveOptions.Start.FRESH);
            String cut = Evolution.run(RUN, fresh.withProgress(report -> !report.contains("\"done\":2")));
            holds(cut.contains("\"interrupted\":true") && cut.contains("\"generations\":2"), cut);
            refused(() -> Evolution.run(RUN, fresh), ErrorCode.INVALID_ARGUMENT, "");
            equal(hashOf(Evolution.run(RUN, options.withOut(out, EvolveOptions.Start.RESUME))), RUN_HASH);
            try (Network best = Network.open(out + "/best.entity")) {
                equal(best.forward(values(1, 4, 2)).shape(), new long[] {4, 1});
            }
            String path = Files.writeString(folder.resolve("run.json"), RUN).toString();
            EvolveOptions again = EvolveOptions.DEFAULT.withOut(out, EvolveOptions.Start.OVERWRITE).withGenerations(2);
            equal(hashOf(Evolution.runFile(path, again)), hashOf(cut));
            refused(() -> Evolution.runFile(path + ".none", again), ErrorCode.NOT_FOUND, "none");
            refused(() -> Evolution.run(RUN, options.withFolder("a\0b")), ErrorCode.INVALID_ARGUMENT, "folder has a NUL");
        } finally {
            remove(folder);
        }
    }

    public void testEvolutionsEndByFlagAndException() throws Exception {
        Path folder = folder();
        try {
            EvolveOptions options = EvolveOptions.DEFAULT.withFolder(folder.toString()).withCompute(Compute.threads(1));
            String endless = RUN.replace("\"generations\": 4", "\"generations\": 100000000");
            for (long wait : new long[] {0, 10, 50}) {
                try (Cancel cancel = new Cancel()) {
                    CompletableFuture<String> run =
                        CompletableFuture.supplyAsync(() -> Evolution.run(endless, options.withCancel(cancel)));
                    Thread.sleep(wait);
                    cancel.cancel();
                    holds(run.get().contains("\"interrupted\":true"), run.get());
                }
            }
            Error mine = thrown(Error.class, () -> Evolution.run(RUN, options.withProgress(report -> {
                throw new Error("mine");
            })));
            equal(mine.getMessage(), "mine");
        } finally {
            remove(folder);
        }
    }

    public void testSingleOperationsHaveTheHashesOfPython() {
        try (Network base = new Network(SPEC); Network changed = base.copy();
                Population people = new Population(base, SHAPE, CONFIG)) {
            for (int i = 0; i < 6; i++) {
                people.evolve(EvolutionTest::judge);
            }
            try (Network child = Evolution.splice(base, people.best(), "{\"mode\": \"uniform\", \"seed\": 1}")) {
                equal(child.hash(), CHILD_HASH);
            }
            String report = Evolution.mutate(changed, SHAPE, "{\"seed\": 5}");
            holds(report.contains("\"perturb\":2"), report);
            equal(changed.hash(), MUTANT_HASH);
            holds(Evolution.dna(base, false).startsWith("["), "a list");
            holds(Evolution.compareDna(base, changed, false).contains("overall_overlap"), "overlaps");
            holds(Evolution.drawDna(base, changed, true).contains("<svg"), "a picture");
            holds(Evolution.compare(base, base).contains("\"equal\":true"), "equal networks");
            holds(Evolution.compare(base, changed).contains("\"equal\":false"), "different networks");
            refused(() -> Evolution.splice(base, changed, "{\"modes\": 1}"), ErrorCode.UNKNOWN_KEY, "modes");
            Network closed = base.copy();
            closed.close();
            refused(() -> Evolution.compare(base, closed), ErrorCode.BAD_HANDLE, "the Network is closed");
        }
    }

    public void testThreadsTakeTurnsWithAPopulation() throws Exception {
        try (Network base = new Network(SPEC); Population people = new Population(base, SHAPE, CONFIG)) {
            List<CompletableFuture<Void>> running = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                running.add(CompletableFuture.runAsync(() -> {
                    for (int round = 0; round < 20; round++) {
                        try (Network member = people.network(people.ask()[0])) {
                            judge(member);
                        }
                        holds(people.snapshot().length > 100, "a snapshot");
                    }
                }));
            }
            for (CompletableFuture<Void> one : running) {
                one.get();
            }
        }
    }

    public void testCallsOfEvolveJudgeTheirOwnGeneration() throws Exception {
        try (Network base = new Network(SPEC); Population people = new Population(base, SHAPE, CONFIG)) {
            List<CompletableFuture<Void>> running = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                running.add(CompletableFuture.runAsync(() -> {
                    for (int round = 0; round < 8; round++) {
                        people.evolve(EvolutionTest::judge);
                    }
                }));
            }
            for (CompletableFuture<Void> one : running) {
                one.get();
            }
            holds(people.info().contains("\"generation\":32"), people.info());
            for (int place = 0; place < 2; place++) { // the elites
                try (Network member = people.network(place)) {
                    holds(people.info().contains("\"fitness\":[" + judge(member) + "]"), people.info());
                }
            }
            refused(() -> people.evolve(net -> {
                people.evolve(EvolutionTest::judge);
                return judge(net);
            }), ErrorCode.INVALID_STATE, "another call of tell()");
        }
    }
}
