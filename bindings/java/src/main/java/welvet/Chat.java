package welvet;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import welvet.abi.Abi;

/** Conversation: messages in, answers out. Tokens that the model has read are not read again. */
public final class Chat extends NativeObject {
    private final Options options;
    private TextStream last; // the last answer, which may still run

    Chat(LM lm, String system, Options options) {
        super(made(lm, system, options));
        this.options = options;
    }

    private static long made(LM lm, String system, Options options) {
        try (LM.Session session = new LM.Session(lm, lm.options()); Arena arena = Arena.ofConfined()) {
            MemorySegment words = Native.text(arena, system, "system");
            MemorySegment raw = options.filled(arena);
            return session.child((handle, to) -> Abi.chatCreate(handle, words, raw, to));
        }
    }

    /**
     * Adds a message of the user and answers it.
     *
     * @param text the message
     * @return the answer
     */
    public Generation say(String text) {
        try (TextStream stream = stream(text)) {
            return stream.finish();
        }
    }

    /**
     * Adds a message of the user and answers it, piece by piece. The answer ends when its stream is closed, and when the
     * next one begins.
     *
     * @param text the message
     * @return the answer that is being written
     */
    public synchronized TextStream stream(String text) {
        endLast();
        withBytes(text, (handle, data, size) -> Abi.chatSay(handle, data, size, Cancel.handleOf(options.cancel)));
        return answering();
    }

    /**
     * Answers the messages as they stand, piece by piece.
     *
     * @return the answer that is being written
     */
    public synchronized TextStream answer() {
        endLast();
        run(handle -> Abi.chatAnswer(handle, Cancel.handleOf(options.cancel)));
        return answering();
    }

    private TextStream answering() {
        long shared = with(handle -> {
            Native.check(Abi.retain(handle));
            return handle;
        });
        last = new TextStream(shared, true, options);
        return last;
    }

    private void endLast() {
        if (last != null) {
            last.close();
            last = null;
        }
    }

    private interface CallWithBytes {
        int apply(long handle, MemorySegment data, long size);
    }

    private void withBytes(String text, CallWithBytes function) {
        byte[] words = Native.utf8(text);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment data = Native.bytes(arena, words);
            run(handle -> function.apply(handle, data, words.length));
        }
    }

    /**
     * Gives the conversation.
     *
     * @return a JSON list of messages with role and content
     */
    public String messages() {
        return text(Abi::chatMessages);
    }

    /**
     * Replaces the conversation.
     *
     * @param messages the new one
     */
    public void setMessages(List<Message> messages) {
        withBytes(Message.jsonOf(messages), Abi::chatSetMessages);
    }

    /**
     * Drops messages from the end.
     *
     * @param count number of messages that are kept
     */
    public void rewind(long count) {
        run(handle -> Abi.chatRewind(handle, count));
    }

    /**
     * Replaces the text of a message and drops the messages after it.
     *
     * @param index place of the message, from 0
     * @param text its new text
     */
    public void edit(long index, String text) {
        withBytes(text, (handle, data, size) -> Abi.chatEdit(handle, index, data, size));
    }

    /**
     * Writes the conversation into a file, whole or not at all.
     *
     * @param path the file
     */
    public void save(String path) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = Native.text(arena, path, "the path");
            run(handle -> Abi.chatSave(handle, words));
        }
    }

    /**
     * Replaces the conversation by that of a file.
     *
     * @param path a file of save()
     */
    public void load(String path) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment words = Native.text(arena, path, "the path");
            run(handle -> Abi.chatLoad(handle, words));
        }
    }
}
