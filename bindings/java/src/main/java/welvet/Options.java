package welvet;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import welvet.abi.Abi;

/**
 * Options of an answer: {@code new Options().maxTokens(50).temperature(0.8f)}. The defaults are the most likely token
 * each time, at most 128.
 */
public final class Options {
    /** How a text becomes a prompt. */
    public enum Form {
        /** A message for a model with a chat template, a text to continue for the others. */
        AUTO,
        /** A text that is continued as it is. */
        RAW,
        /** A message; NO_TEMPLATE when the model brings no chat template. */
        CHAT
    }

    long maxTokens = 128;
    long minTokens = 0;
    long seed = 0;
    float temperature = 0;
    int topK = 0;
    float topP = 1;
    float minP = 0;
    float typicalP = 1;
    float repetitionPenalty = 1;
    int repetitionWindow = 64;
    float frequencyPenalty = 0;
    float presencePenalty = 0;
    boolean ignoreEos = false;
    List<String> stop = List.of();
    int[] stopIds = new int[0];
    Map<Integer, Float> logitBias = Map.of();
    int logprobs = 0;
    boolean speculate = false;
    LM draft = null;
    Form form = Form.AUTO;
    boolean plainText = false;
    String chatTemplate = null;
    String tools = null;
    String templateVariables = null;
    String date = null;
    boolean continueFinalMessage = false;
    Cancel cancel = null;

    /** Makes the defaults. */
    public Options() {}

    /**
     * Sets max tokens.
     *
     * @param maxTokens most tokens of the answer; 0 reads the prompt and draws no token
     * @return these options
     */
    public Options maxTokens(long maxTokens) {
        this.maxTokens = maxTokens;
        return this;
    }

    /**
     * Sets min tokens.
     *
     * @param minTokens the answer does not end before this number of tokens
     * @return these options
     */
    public Options minTokens(long minTokens) {
        this.minTokens = minTokens;
        return this;
    }

    /**
     * Sets seed.
     *
     * @param seed seed of the draws: equal seeds draw equal tokens
     * @return these options
     */
    public Options seed(long seed) {
        this.seed = seed;
        return this;
    }

    /**
     * Sets temperature.
     *
     * @param temperature 0 takes the most likely token each time; above 0 tokens are drawn
     * @return these options
     */
    public Options temperature(float temperature) {
        this.temperature = temperature;
        return this;
    }

    /**
     * Sets top k.
     *
     * @param topK draws among this number of the most likely tokens; 0: among all
     * @return these options
     */
    public Options topK(int topK) {
        this.topK = topK;
        return this;
    }

    /**
     * Sets top p.
     *
     * @param topP draws among the most likely tokens that together have this probability, above 0 to 1
     * @return these options
     */
    public Options topP(float topP) {
        this.topP = topP;
        return this;
    }

    /**
     * Sets min p.
     *
     * @param minP draws among tokens with at least this part of the probability of the most likely one
     * @return these options
     */
    public Options minP(float minP) {
        this.minP = minP;
        return this;
    }

    /**
     * Sets typical p.
     *
     * @param typicalP draws among the tokens of typical probability that together have this one, above 0 to 1
     * @return these options
     */
    public Options typicalP(float typicalP) {
        this.typicalP = typicalP;
        return this;
    }

    /**
     * Sets repetition penalty.
     *
     * @param repetitionPenalty above 1 makes the tokens of the last repetitionWindow ones less likely
     * @return these options
     */
    public Options repetitionPenalty(float repetitionPenalty) {
        this.repetitionPenalty = repetitionPenalty;
        return this;
    }

    /**
     * Sets repetition window.
     *
     * @param repetitionWindow tokens that the three penalties look back on; -1: all
     * @return these options
     */
    public Options repetitionWindow(int repetitionWindow) {
        this.repetitionWindow = repetitionWindow;
        return this;
    }

    /**
     * Sets frequency penalty.
     *
     * @param frequencyPenalty subtracted from a token's logit for each time that it occurred in the window
     * @return these options
     */
    public Options frequencyPenalty(float frequencyPenalty) {
        this.frequencyPenalty = frequencyPenalty;
        return this;
    }

    /**
     * Sets presence penalty.
     *
     * @param presencePenalty subtracted from a token's logit if it occurred in the window
     * @return these options
     */
    public Options presencePenalty(float presencePenalty) {
        this.presencePenalty = presencePenalty;
        return this;
    }

    /**
     * Sets ignore eos.
     *
     * @param ignoreEos true bans the tokens that end an answer
     * @return these options
     */
    public Options ignoreEos(boolean ignoreEos) {
        this.ignoreEos = ignoreEos;
        return this;
    }

    /**
     * Sets stop.
     *
     * @param stop texts that end the answer and are not part of it
     * @return these options
     */
    public Options stop(List<String> stop) {
        this.stop = List.copyOf(stop);
        return this;
    }

    /**
     * Sets stop ids.
     *
     * @param stopIds token ids that end the answer, in addition to the model's own
     * @return these options
     */
    public Options stopIds(int... stopIds) {
        this.stopIds = stopIds.clone();
        return this;
    }

    /**
     * Sets logit bias.
     *
     * @param logitBias numbers that are added to the logits of tokens before each draw
     * @return these options
     */
    public Options logitBias(Map<Integer, Float> logitBias) {
        this.logitBias = Map.copyOf(logitBias);
        return this;
    }

    /**
     * Sets logprobs.
     *
     * @param logprobs number of the best tokens of each draw that Generation.logprobs has; 0: none
     * @return these options
     */
    public Options logprobs(int logprobs) {
        this.logprobs = logprobs;
        return this;
    }

    /**
     * Sets speculate.
     *
     * @param speculate true drafts the tokens that followed the same tokens before: the same answer in less time
     * @return these options
     */
    public Options speculate(boolean speculate) {
        this.speculate = speculate;
        return this;
    }

    /**
     * Sets draft.
     *
     * @param draft a smaller model with the same tokens that drafts instead; null: none
     * @return these options
     */
    public Options draft(LM draft) {
        this.draft = draft;
        return this;
    }

    /**
     * Sets form.
     *
     * @param form how a text becomes a prompt
     * @return these options
     */
    public Options form(Form form) {
        this.form = form;
        return this;
    }

    /**
     * Sets plain text.
     *
     * @param plainText true reads control tokens in prompts and messages as ordinary text: for texts of strangers
     * @return these options
     */
    public Options plainText(boolean plainText) {
        this.plainText = plainText;
        return this;
    }

    /**
     * Sets chat template.
     *
     * @param chatTemplate name of another chat template, as "chatml", or its text; null: the model's own
     * @return these options
     */
    public Options chatTemplate(String chatTemplate) {
        this.chatTemplate = chatTemplate;
        return this;
    }

    /**
     * Sets tools.
     *
     * @param tools JSON list of functions that the chat template describes; null: none
     * @return these options
     */
    public Options tools(String tools) {
        this.tools = tools;
        return this;
    }

    /**
     * Sets template variables.
     *
     * @param templateVariables JSON object of variables that the chat template reads; null: none
     * @return these options
     */
    public Options templateVariables(String templateVariables) {
        this.templateVariables = templateVariables;
        return this;
    }

    /**
     * Sets date.
     *
     * @param date YYYY-MM-DD, for chat templates that write the day; null: none
     * @return these options
     */
    public Options date(String date) {
        this.date = date;
        return this;
    }

    /**
     * Sets continue final message.
     *
     * @param continueFinalMessage true continues the last message of a list instead of answering it
     * @return these options
     */
    public Options continueFinalMessage(boolean continueFinalMessage) {
        this.continueFinalMessage = continueFinalMessage;
        return this;
    }

    /**
     * Sets cancel.
     *
     * @param cancel flag that ends the answer, whose text so far stays; null: none
     * @return these options
     */
    public Options cancel(Cancel cancel) {
        this.cancel = cancel;
        return this;
    }

    /** Gives the struct of C, whose memory the arena holds. */
    MemorySegment filled(Arena arena) {
        check();
        MemorySegment raw = Abi.struct(arena, Abi.GENERATION_OPTIONS);
        raw.set(JAVA_LONG, Abi.GENERATION_OPTIONS_MAX_TOKENS, maxTokens);
        raw.set(JAVA_INT, Abi.GENERATION_OPTIONS_PROMPT_ONLY, maxTokens == 0 ? 1 : 0);
        raw.set(JAVA_LONG, Abi.GENERATION_OPTIONS_MIN_TOKENS, minTokens);
        raw.set(JAVA_LONG, Abi.GENERATION_OPTIONS_SEED, seed);
        raw.set(JAVA_FLOAT, Abi.GENERATION_OPTIONS_TEMPERATURE, temperature);
        raw.set(JAVA_FLOAT, Abi.GENERATION_OPTIONS_TOP_P, topP);
        raw.set(JAVA_FLOAT, Abi.GENERATION_OPTIONS_MIN_P, minP);
        raw.set(JAVA_FLOAT, Abi.GENERATION_OPTIONS_TYPICAL_P, typicalP);
        raw.set(JAVA_FLOAT, Abi.GENERATION_OPTIONS_REPETITION_PENALTY, repetitionPenalty);
        raw.set(JAVA_FLOAT, Abi.GENERATION_OPTIONS_FREQUENCY_PENALTY, frequencyPenalty);
        raw.set(JAVA_FLOAT, Abi.GENERATION_OPTIONS_PRESENCE_PENALTY, presencePenalty);
        raw.set(JAVA_INT, Abi.GENERATION_OPTIONS_TOP_K, topK);
        raw.set(JAVA_INT, Abi.GENERATION_OPTIONS_REPETITION_WINDOW, repetitionWindow);
        raw.set(JAVA_INT, Abi.GENERATION_OPTIONS_IGNORE_EOS, ignoreEos ? 1 : 0);
        raw.set(JAVA_INT, Abi.GENERATION_OPTIONS_SPECULATE, speculate || draft != null ? 1 : 0);
        raw.set(JAVA_LONG, Abi.GENERATION_OPTIONS_DRAFT_MODEL, draft == null ? 0 : draft.live());
        raw.set(JAVA_INT, Abi.GENERATION_OPTIONS_LOGPROBS, logprobs);
        raw.set(JAVA_INT, Abi.GENERATION_OPTIONS_PLAIN_TEXT, plainText ? 1 : 0);
        raw.set(JAVA_INT, Abi.GENERATION_OPTIONS_CONTINUE_FINAL_MESSAGE, continueFinalMessage ? 1 : 0);
        raw.set(ADDRESS, Abi.GENERATION_OPTIONS_CHAT_TEMPLATE, Native.text(arena, chatTemplate, "chatTemplate"));
        raw.set(ADDRESS, Abi.GENERATION_OPTIONS_TOOLS, Native.text(arena, tools, "tools"));
        raw.set(ADDRESS, Abi.GENERATION_OPTIONS_TEMPLATE_VARIABLES,
            Native.text(arena, templateVariables, "templateVariables"));
        raw.set(ADDRESS, Abi.GENERATION_OPTIONS_DATE, Native.text(arena, date, "date"));
        fillLists(arena, raw);
        return raw;
    }

    private void fillLists(Arena arena, MemorySegment raw) {
        raw.set(ADDRESS, Abi.GENERATION_OPTIONS_STOP, Native.texts(arena, stop, "stop"));
        raw.set(JAVA_LONG, Abi.GENERATION_OPTIONS_STOP_COUNT, stop.size());
        raw.set(ADDRESS, Abi.GENERATION_OPTIONS_STOP_IDS, arena.allocateFrom(JAVA_INT, stopIds));
        raw.set(JAVA_LONG, Abi.GENERATION_OPTIONS_STOP_IDS_COUNT, stopIds.length);
        MemorySegment ids = arena.allocate(JAVA_INT, logitBias.size());
        MemorySegment biases = arena.allocate(JAVA_FLOAT, logitBias.size());
        int at = 0;
        for (Map.Entry<Integer, Float> entry : logitBias.entrySet()) { // any order: one number for each id
            ids.setAtIndex(JAVA_INT, at, entry.getKey());
            biases.setAtIndex(JAVA_FLOAT, at++, entry.getValue());
        }
        raw.set(ADDRESS, Abi.GENERATION_OPTIONS_BIAS_IDS, ids);
        raw.set(JAVA_LONG, Abi.GENERATION_OPTIONS_BIAS_IDS_COUNT, at);
        raw.set(ADDRESS, Abi.GENERATION_OPTIONS_BIASES, biases);
        raw.set(JAVA_LONG, Abi.GENERATION_OPTIONS_BIASES_COUNT, at);
    }

    /** Refuses the numbers that mean a default in C, and negative counts. */
    private void check() {
        notZero("topP", topP);
        notZero("typicalP", typicalP);
        notZero("repetitionPenalty", repetitionPenalty);
        notZero("repetitionWindow", repetitionWindow);
        notNegative("maxTokens", maxTokens);
        notNegative("minTokens", minTokens);
        notNegative("logprobs", logprobs);
    }

    private static void notZero(String name, float value) {
        if (value == 0) {
            throw Native.wrong(name + " is 0: it must not be");
        }
    }

    private static void notNegative(String name, long value) {
        if (value < 0) {
            throw Native.wrong(name + " is " + value + ": expected 0 or more");
        }
    }
}
