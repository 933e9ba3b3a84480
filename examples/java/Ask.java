// Asks a language model a question and prints its answer as it comes (Java 22 or later):
//
//   javac -d out $(find bindings/java/src/main -name '*.java') examples/java/Ask.java
//   export WELVET_LIBRARY=$PWD/build/libloom.so
//   java -cp out --enable-native-access=ALL-UNNAMED Ask MODEL "What is the capital of France?"

import welvet.LM;
import welvet.LoomException;
import welvet.Options;
import welvet.TextStream;

public final class Ask {
    public static void main(String[] given) {
        if (given.length != 2) {
            System.err.println("usage: Ask MODEL QUESTION");
            System.exit(2);
        }
        try (LM lm = new LM(given[0]); TextStream stream = lm.stream(given[1], new Options())) {
            for (String piece : stream) {
                System.out.print(piece);
                System.out.flush();
            }
            System.out.println("\nhash " + stream.result().hash().substring(0, 16));
        } catch (LoomException e) {
            System.err.println("Ask: " + e.getMessage());
            System.exit(1);
        }
    }
}
