/**
 * Loom from Java: neural networks and language models with the same bits on every machine.
 *
 * <p>A language model that answers, by its path or by a hub id that is in huggingface_hub's cache:
 *
 * <pre>{@code
 * try (LM lm = new LM("HuggingFaceTB/SmolLM2-360M-Instruct")) {
 *     System.out.println(lm.generate("What is the capital of France?"));
 * }
 * }</pre>
 *
 * <p>{@link welvet.LM} has language models, {@link welvet.Encoder} texts as vectors, {@link welvet.Network} networks of
 * any layers, {@link welvet.Trainer} and {@link welvet.Loom#train} training, {@link welvet.Population} and {@link
 * welvet.Evolution} evolution. A failed call throws a {@link welvet.LoomException} with a code and a text; a {@link
 * welvet.Cancel} ends a call from another thread. Values that the library describes as JSON are texts.
 *
 * <p>Any number of threads may use one object. Models, tokenizers and networks serve them at the same time; sessions,
 * streams, chats, trainers, populations and encoders one after another.
 *
 * <p>The library is found by the variable WELVET_LIBRARY or the property loom.library (its path), or where the system
 * looks. Java 22 or later; run with --enable-native-access=ALL-UNNAMED.
 */
package welvet;
