// Times calls in Java as calls.c does in C.

import java.util.Arrays;
import welvet.Compute;
import welvet.LM;
import welvet.LoadOptions;
import welvet.Network;
import welvet.NetworkSession;
import welvet.Options;
import welvet.Tensor;
import welvet.TextStream;

public final class Calls {
    private static final int GROUPS = 300, CALLS = 200, ANSWERS = 120, TOKENS = 16;
    private static final String SPEC =
            """
            {"seed": 1, "layers": [
              {"type": "dense", "input_height": 8, "output_height": 8, "activation": "tanh"},
              {"type": "dense", "input_height": 8, "output_height": 4}]}""";

    private static void show(String what, long[] times) {
        Arrays.sort(times);
        System.out.println(what + " " + times[0] + " " + times[times.length / 2]);
    }

    public static void main(String[] given) {
        Compute compute = Compute.threads(1);
        long[] times = new long[GROUPS];
        try (Network network = new Network(SPEC); NetworkSession session = network.session(compute, false)) {
            Tensor x = Tensor.of(new long[] {1, 8}, new float[8]);
            for (int group = 0; group < GROUPS; ++group) {
                long start = System.nanoTime();
                for (int i = 0; i < CALLS; ++i) session.forward(x);
                times[group] = (System.nanoTime() - start) / CALLS;
            }
        }
        show("forward", times);
        times = new long[ANSWERS];
        String hash = "";
        try (LM lm = new LM(given[0], LoadOptions.DEFAULT.withCompute(compute))) {
            Options options = new Options().maxTokens(TOKENS).form(Options.Form.RAW);
            for (int answer = 0; answer < ANSWERS; ++answer) {
                long start = System.nanoTime();
                try (TextStream stream = lm.stream("Once upon a time", options)) {
                    while (stream.hasNext()) stream.next();
                    hash = stream.result().hash();
                }
                times[answer] = (System.nanoTime() - start) / TOKENS;
            }
        }
        show("token", times);
        System.out.println("hash " + hash.substring(0, 16));
    }
}
