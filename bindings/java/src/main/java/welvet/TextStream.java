package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import welvet.abi.Abi;

/**
 * Answer that is being written: an iterator over pieces of text. Closing it ends the answer where it is; in a chat its
 * text so far joins the conversation.
 */
public final class TextStream extends NativeObject implements Iterator<String>, Iterable<String> {
    private final boolean isChat;
    private final boolean hasLogprobs;
    private final Cancel cancel;
    private final CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder()
        .onMalformedInput(CodingErrorAction.REPLACE).onUnmappableCharacter(CodingErrorAction.REPLACE);
    private byte[] pending = new byte[0];
    private int stop = Abi.STOP_NOT_YET;
    private String next = "";

    TextStream(long handle, boolean isChat, Options options) {
        super(handle);
        this.isChat = isChat;
        this.hasLogprobs = options.logprobs > 0;
        this.cancel = options.cancel;
    }

    /**
     * Writes until a piece of text has settled.
     *
     * @return whether there is one
     */
    @Override
    public synchronized boolean hasNext() {
        while (next.isEmpty() && stop == Abi.STOP_NOT_YET) {
            next = advance();
        }
        return !next.isEmpty();
    }

    @Override
    public synchronized String next() {
        if (!hasNext()) {
            throw new NoSuchElementException("the answer has ended");
        }
        String piece = next;
        next = "";
        return piece;
    }

    /**
     * Gives this iterator, for a loop over the pieces.
     *
     * @return this
     */
    @Override
    public Iterator<String> iterator() {
        return this;
    }

    /**
     * Gives the pieces as a stream, which closes this one when it is closed.
     *
     * @return a sequential stream
     */
    public Stream<String> stream() {
        int traits = Spliterator.ORDERED | Spliterator.NONNULL;
        return StreamSupport.stream(Spliterators.spliteratorUnknownSize(this, traits), false).onClose(this::close);
    }

    /** Does one piece of work and gives the text that has settled, which may be empty. */
    private String advance() {
        return alone(handle -> {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment step = Abi.struct(arena, Abi.STEP);
                long flag = Cancel.handleOf(cancel);
                Native.check(isChat ? Abi.chatNext(handle, flag, step) : Abi.generatorNext(handle, flag, step));
                stop = step.get(JAVA_INT, Abi.STEP_STOP);
                return decoded(
                    Native.bytesAt(step.get(ADDRESS, Abi.STEP_TEXT), step.get(JAVA_LONG, Abi.STEP_TEXT_SIZE)));
            }
        });
    }

    /** Decodes whole characters; the bytes of one that is not whole wait for the next piece. */
    private String decoded(byte[] bytes) {
        ByteBuffer in = ByteBuffer.allocate(pending.length + bytes.length).put(pending).put(bytes).flip();
        CharBuffer out = CharBuffer.allocate(in.remaining() + 2);
        boolean isLast = stop != Abi.STOP_NOT_YET;
        decoder.decode(in, out, isLast);
        if (isLast) {
            decoder.flush(out);
        }
        pending = new byte[in.remaining()];
        in.get(pending);
        return out.flip().toString();
    }

    /**
     * Gives the answer so far, or the whole one after the last piece.
     *
     * @return the answer
     */
    public Generation result() {
        return alone(handle -> {
            String logprobs = hasLogprobs ? text(isChat ? Abi::chatLogprobs : Abi::generatorLogprobs) : null;
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment raw = Abi.struct(arena, Abi.GENERATION);
                Native.check(isChat ? Abi.chatResult(handle, raw) : Abi.generatorResult(handle, raw));
                return Generation.of(raw, logprobs);
            }
        });
    }

    /**
     * Writes the rest of the answer.
     *
     * @return the whole answer
     */
    public synchronized Generation finish() {
        while (hasNext()) {
            next();
        }
        return result();
    }

    /**
     * Gives the receipt of a complete answer, which proves it on another machine.
     *
     * @return a JSON object
     */
    public String receipt() {
        return text(isChat ? Abi::chatReceipt : Abi::generatorReceipt);
    }

    @Override
    public synchronized void close() {
        try {
            if (isChat && stop == Abi.STOP_NOT_YET) {
                stop = Abi.STOP_CANCELLED;
                run(Abi::chatStop);
            }
        } finally {
            super.close();
        }
    }
}
