package welvet;

import static welvet.Checks.equal;
import static welvet.Checks.holds;
import static welvet.Checks.refused;
import static welvet.Checks.thrown;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Language models and encoders, with the model of the README. */
public class ModelsTest {
    private static final String QUESTION = "What is the capital of France?";
    private static final String ANSWER = "The capital of France is Paris.";
    private static final String HASH = "99554f0d"; // of the README

    public void testTheAnswerOfTheReadme() {
        try (LM lm = new LM(Checks.model())) {
            Generation whole = lm.generate(QUESTION);
            equal(whole.text(), ANSWER);
            equal(whole.hash().substring(0, 8), HASH);
            equal(whole.stopReason(), "eos");
            try (TextStream stream = lm.stream(QUESTION, new Options())) {
                List<String> pieces = new ArrayList<>();
                for (String piece : stream) {
                    pieces.add(piece);
                }
                holds(pieces.size() > 3, pieces);
                equal(String.join("", pieces), ANSWER);
                equal(stream.result().hash(), whole.hash());
                holds(stream.receipt().contains(whole.hash()), stream.receipt());
            }
            try (Stream<String> pieces = lm.stream(List.of(new Message("user", QUESTION)), new Options()).stream()) {
                equal(pieces.collect(Collectors.joining()), ANSWER);
            }
        }
    }

    public void testOptionsReachTheLibrary() {
        try (LM lm = new LM(Checks.model())) {
            Options raw = new Options().maxTokens(6).form(Options.Form.RAW).seed(7).temperature(0.8f).logprobs(2);
            Generation first = lm.generate("Once upon a time", raw);
            equal(first.ids().size(), 6);
            equal(first.stopReason(), "length");
            holds(first.logprobs().startsWith("[{"), first.logprobs());
            equal(lm.generate("Once upon a time", raw).hash(), first.hash());
            Generation cut = lm.generate(QUESTION, new Options().stop(List.of("France")).logitBias(Map.of(5, 1f)));
            equal(cut.text() + cut.stopReason(), "The capital of stop");
            Generation none = lm.generate(QUESTION, new Options().maxTokens(0));
            holds(none.ids().isEmpty() && none.promptTokens() > 0, none);
            refused(() -> lm.generate(QUESTION, new Options().topP(0)), ErrorCode.INVALID_ARGUMENT, "topP is 0");
            refused(() -> lm.generate(QUESTION, new Options().topP(3)), ErrorCode.INVALID_ARGUMENT, "top_p is 3");
            refused(() -> lm.generate(QUESTION, new Options().maxTokens(-1)), ErrorCode.INVALID_ARGUMENT,
                "maxTokens is -1");
            refused(() -> lm.generate(QUESTION, new Options().stop(List.of("a\0b"))), ErrorCode.INVALID_ARGUMENT,
                "NUL");
        }
    }

    public void testChatsRemember() throws IOException {
        try (LM lm = new LM(Checks.model()); Chat chat = lm.chat("You are \"brief\".", new Options().maxTokens(20))) {
            Generation first = chat.say("My name is Ada.");
            Generation second = chat.say("What is my name?");
            List<Message> said = List.of(new Message("system", "You are \"brief\"."),
                new Message("user", "My name is Ada."), new Message("assistant", first.text()),
                new Message("user", "What is my name?"));
            try (TextStream again = lm.stream(said, new Options().maxTokens(20))) {
                equal(again.finish().text(), second.text());
            }
            Path path = Files.createTempDirectory("welvet").resolve("größe.json");
            chat.save(path.toString());
            String messages = chat.messages();
            chat.rewind(1);
            holds(!chat.messages().contains("Ada"), chat.messages());
            chat.load(path.toString());
            Files.delete(path);
            Files.delete(path.getParent());
            equal(chat.messages(), messages);
            try (TextStream stream = chat.stream("Count to one hundred.")) {
                stream.next();
            } // its text so far joins the conversation
            equal(chat.messages().split("\"role\"", -1).length - 1, 7);
            TextStream running = chat.stream("Count to one thousand.");
            String next = chat.say("Stop.").text(); // ends the answer that runs
            refused(running::result, ErrorCode.BAD_HANDLE, "the TextStream is closed");
            holds(chat.messages().contains(next.substring(0, 4)), chat.messages());
        }
    }

    public void testTokenizersGoThereAndBack() {
        try (Tokenizer tokenizer = Tokenizer.open(Checks.model())) {
            equal(tokenizer.decode(tokenizer.encode("Grüße, 世界!"), true), "Grüße, 世界!");
            int end = tokenizer.idOf("<|im_end|>").getAsInt();
            equal(tokenizer.token(end), "<|im_end|>");
            equal(tokenizer.encode("<|im_end|>"), new int[] {end});
            holds(tokenizer.encode("<|im_end|>", false, false).length > 1, end);
            equal(tokenizer.idOf("no such token"), OptionalInt.empty());
            equal(tokenizer.vocabSize(), 49152L);
        }
    }

    public void testEncodersEmbed() {
        try (Encoder encoder = new Encoder(Checks.data("minilm"))) {
            Tensor both = encoder.embed("It rains.", "The sun shines.");
            equal(both.shape(), new long[] {2, 384});
            equal(encoder.embed("The sun shines.").row(0), both.row(1));
        }
    }

    public void testAnswersEndAtAnyMoment() throws Exception {
        try (LM lm = new LM(Checks.model())) {
            for (long wait : new long[] {0, 1, 5, 20, 60, 150}) {
                Cancel cancel = new Cancel();
                Options endless = new Options().maxTokens(100_000).ignoreEos(true).cancel(cancel);
                CompletableFuture<Generation> answer =
                    CompletableFuture.supplyAsync(() -> lm.generate(QUESTION, endless));
                Thread.sleep(wait);
                cancel.cancel();
                equal(answer.get().stopReason(), "cancelled");
            }
        }
        Cancel cancel = new Cancel();
        cancel.cancel();
        refused(() -> new LM(Checks.model(), LoadOptions.DEFAULT.withCancel(cancel)), ErrorCode.CANCELLED, "");
        cancel.reset();
        new LM(Checks.model(), LoadOptions.DEFAULT.withCancel(cancel)).close();
    }

    public void testProgressMayCancelOrThrow() {
        List<Double> parts = new ArrayList<>();
        new LM(Checks.model(), LoadOptions.DEFAULT.withProgress(parts::add)).close();
        holds(parts.size() > 1 && parts.get(parts.size() - 1) <= 1, parts);
        refused(() -> new LM(Checks.model(), LoadOptions.DEFAULT.withProgress(part -> false)), ErrorCode.CANCELLED, "");
        IllegalStateException mine = thrown(IllegalStateException.class,
            () -> new LM(Checks.model(), LoadOptions.DEFAULT.withProgress(part -> {
                throw new IllegalStateException("mine");
            })));
        equal(mine.getMessage(), "mine");
    }

    public void testThreadsShareAModelAndAStream() throws Exception {
        try (LM lm = new LM(Checks.model())) {
            List<CompletableFuture<String>> answers = new ArrayList<>();
            for (int i = 0; i < 3; i++) {
                answers.add(
                    CompletableFuture.supplyAsync(() -> lm.generate(QUESTION, new Options().maxTokens(4)).text()));
            }
            TextStream stream = lm.stream(QUESTION, new Options());
            CompletableFuture<String> whole = CompletableFuture.supplyAsync(() -> stream.finish().text());
            equal(stream.finish().text(), ANSWER);
            equal(whole.get(), ANSWER);
            for (CompletableFuture<String> answer : answers) {
                equal(answer.get(), "The capital of France");
            }
        }
    }

    public void testClosedObjectsAnswerBadHandle() {
        LM lm = new LM(Checks.model());
        TextStream stream = lm.stream(QUESTION, new Options());
        Chat chat = lm.chat(null, new Options());
        lm.close();
        lm.close(); // twice is harmless
        refused(() -> lm.generate(QUESTION), ErrorCode.BAD_HANDLE, "the LM is closed");
        refused(lm::tokenizer, ErrorCode.BAD_HANDLE, "the LM is closed");
        equal(stream.finish().text(), ANSWER); // it keeps the model
        stream.close();
        refused(stream::result, ErrorCode.BAD_HANDLE, "the TextStream is closed");
        TextStream running = chat.stream("Hello");
        chat.close();
        running.close();
        refused(() -> chat.say("x"), ErrorCode.BAD_HANDLE, "the Chat is closed");
    }

    public void testErrorsHaveCodeAndText() {
        LoomException missing = thrown(LoomException.class, () -> new LM("no/such/model.gguf"));
        equal(missing.getMessage(), "NOT_FOUND: no/such/model.gguf: no such file or folder");
        refused(() -> new LM("someone/no-such-model"), ErrorCode.NOT_FOUND, "hf download someone/no-such-model");
        refused(() -> new LM("a\0b"), ErrorCode.NOT_FOUND, "no such file");
        refused(() -> new LM("not a model".getBytes(), LoadOptions.DEFAULT), ErrorCode.UNSUPPORTED, "");
        try (LM lm = new LM(Checks.model())) {
            refused(() -> lm.stream(new int[] {-5}, new Options()).finish(), ErrorCode.INDEX_OUT_OF_RANGE, "-5");
        }
        equal(Arrays.stream(ErrorCode.values()).filter(code -> ErrorCode.of(31) == code).toList(),
            List.of(ErrorCode.BAD_HANDLE));
    }
}
