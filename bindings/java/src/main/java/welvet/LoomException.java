package welvet;

/** Failed call: a code to switch on, and a line of text that says what came and what was expected. */
public final class LoomException extends RuntimeException {
    private static final long serialVersionUID = 1;

    /** Reason. */
    private final ErrorCode code;
    /** Text without the code. */
    private final String text;

    LoomException(ErrorCode code, String text) {
        super(code + ": " + text);
        this.code = code;
        this.text = text;
    }

    /**
     * Gives the reason.
     *
     * @return the code
     */
    public ErrorCode code() {
        return code;
    }

    /**
     * Gives the text without the code.
     *
     * @return the text
     */
    public String text() {
        return text;
    }
}
