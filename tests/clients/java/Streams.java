import com.anthropic.helpers.MessageAccumulator;
import com.anthropic.models.messages.Message;
import com.anthropic.models.messages.MessageCreateParams;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.helpers.ResponseAccumulator;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import java.util.function.Consumer;

/** Streams answers into the accumulators of the clients, and validates each event. */
final class Streams {
    private Streams() {}

    static Response responses(Main.Clients clients, ResponseCreateParams ask, Consumer<String> atText) {
        ResponseAccumulator whole = ResponseAccumulator.create();
        try (var stream = clients.vendor().responses().createStreaming(ask)) {
            stream.stream().forEach(event -> {
                whole.accumulate(event.validate());
                event.outputTextDelta().ifPresent(delta -> atText.accept(delta.delta()));
            });
        }
        return whole.response();
    }

    static ChatCompletion chat(Main.Clients clients, ChatCompletionCreateParams ask, Consumer<String> atText) {
        ChatCompletionAccumulator whole = ChatCompletionAccumulator.create();
        try (var stream = clients.vendor().chat().completions().createStreaming(ask)) {
            stream.stream().forEach(chunk -> {
                whole.accumulate(chunk.validate());
                chunk.choices().forEach(choice -> choice.delta().content().ifPresent(atText));
            });
        }
        return whole.chatCompletion();
    }

    static Message messages(Main.Clients clients, MessageCreateParams ask, Consumer<String> atText) {
        MessageAccumulator whole = MessageAccumulator.create();
        try (var stream = clients.claude().messages().createStreaming(ask)) {
            stream.stream().forEach(event -> {
                whole.accumulate(event.validate());
                event.contentBlockDelta()
                        .flatMap(delta -> delta.delta().text())
                        .ifPresent(delta -> atText.accept(delta.text()));
            });
        }
        return whole.message();
    }
}
