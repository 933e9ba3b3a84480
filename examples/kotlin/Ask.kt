// Asks a language model a question and prints its answer as it comes (Kotlin on Java 22 or later):
//
//   kotlinc -cp out -d out examples/kotlin/Ask.kt        out: the classes of bindings/java
//   java -cp out:kotlin-stdlib.jar --enable-native-access=ALL-UNNAMED AskKt MODEL "What is the capital of France?"

import kotlin.system.exitProcess
import welvet.LM
import welvet.LoomException
import welvet.Options

fun main(given: Array<String>) {
    if (given.size != 2) {
        System.err.println("usage: ask MODEL QUESTION")
        exitProcess(2)
    }
    try {
        LM(given[0]).use { lm ->
            lm.stream(given[1], Options()).use { stream ->
                for (piece in stream) print(piece)
                println("\nhash ${stream.result().hash().take(16)}")
            }
        }
    } catch (error: LoomException) {
        System.err.println("ask: ${error.message}")
        exitProcess(1)
    }
}
