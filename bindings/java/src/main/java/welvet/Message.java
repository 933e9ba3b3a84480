package welvet;

import java.util.List;
import java.util.stream.Collectors;

/**
 * Message of a conversation.
 *
 * @param role "system", "user" or "assistant"
 * @param content the text
 */
public record Message(String role, String content) {
    static String jsonOf(List<Message> messages) {
        return messages.stream()
            .map(message -> "{\"role\":" + quoted(message.role) + ",\"content\":" + quoted(message.content) + "}")
            .collect(Collectors.joining(",", "[", "]"));
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char character : text.toCharArray()) {
            if (character == '"' || character == '\\') {
                out.append('\\').append(character);
            } else if (character < 0x20) {
                out.append(String.format("\\u%04x", (int) character));
            } else {
                out.append(character);
            }
        }
        return out.append('"').toString();
    }
}
