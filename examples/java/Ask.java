// Asks a language model a question and prints its answer as it comes (Java 22 or later):
//
//   javac -d out bindings/java/welvet/Abi.java examples/java/Ask.java
//   java -cp out --enable-native-access=ALL-UNNAMED -Dloom.library=FOLDER/libloom.so Ask MODEL "What is the capital of France?"

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import welvet.Abi;

public final class Ask {
    private static final class Failed extends Exception {
        Failed(String words) {
            super(words);
        }
    }

    private static void check(int status) throws Failed {
        if (status != Abi.OK) {
            throw new Failed(Abi.text(Abi.statusName(status)) + ": " + Abi.text(Abi.lastError()));
        }
    }

    private static int calls = 0;

    private static void ask(Arena arena, String path, String question) throws Failed {
        MemorySegment handle = arena.allocate(JAVA_LONG);
        MemorySegment options = Abi.struct(arena, Abi.MODEL_OPTIONS);
        Abi.OnProgress progress = (user, fraction) -> {
            ++calls;
            return 1;
        };
        options.set(ADDRESS, Abi.MODEL_OPTIONS_PROGRESS, progress.pointer(arena));
        check(Abi.modelOpen(arena.allocateFrom(path), options, handle));
        long model = handle.get(JAVA_LONG, 0);
        check(Abi.sessionCreate(model, MemorySegment.NULL, handle));
        long session = handle.get(JAVA_LONG, 0);
        byte[] words = question.getBytes(StandardCharsets.UTF_8);
        check(Abi.generatorFromText(session, arena.allocateFrom(JAVA_BYTE, words), words.length, Abi.PROMPT_AUTO,
            MemorySegment.NULL, handle));
        long generator = handle.get(JAVA_LONG, 0);
        MemorySegment step = Abi.struct(arena, Abi.STEP);
        while (step.get(JAVA_INT, Abi.STEP_STOP) == Abi.STOP_NOT_YET) {
            check(Abi.generatorNext(generator, 0, step));
            MemorySegment text = step.get(ADDRESS, Abi.STEP_TEXT).reinterpret(step.get(JAVA_LONG, Abi.STEP_TEXT_SIZE));
            System.out.writeBytes(text.toArray(JAVA_BYTE));
        }
        MemorySegment answer = Abi.struct(arena, Abi.GENERATION);
        check(Abi.generatorResult(generator, answer));
        byte[] hash = answer.asSlice(Abi.GENERATION_HASH, 8).toArray(JAVA_BYTE);
        System.out.println("\nhash " + HexFormat.of().formatHex(hash));
        System.out.println(calls > 0 ? "progress was shown" : "no progress was shown");
        check(Abi.release(generator));
        check(Abi.release(session));
        check(Abi.release(model));
    }

    public static void main(String[] given) {
        if (given.length != 2) {
            System.err.println("usage: ask MODEL QUESTION");
            System.exit(2);
        }
        try (Arena arena = Arena.ofConfined()) {
            ask(arena, given[0], given[1]);
        } catch (Failed e) {
            System.err.println("ask: " + e.getMessage());
            System.exit(1);
        }
    }
}
