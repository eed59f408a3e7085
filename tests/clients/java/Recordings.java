import com.anthropic.errors.AnthropicServiceException;
import com.anthropic.models.messages.MessageCreateParams;
import com.fasterxml.jackson.databind.JsonNode;
import com.openai.errors.OpenAIServiceException;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.responses.ResponseCreateParams;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/** Reads recorded answers of providers, and validates every field of them. */
final class Recordings {
    private Recordings() {}

    static void read(Main.Clients clients, JsonNode models) throws Exception {
        Map<String, Consumer<String>> calls = callsOf(clients);
        List<Callable<Void>> tasks = new ArrayList<>();
        for (JsonNode model : models) {
            calls.forEach((name, call) -> tasks.add(() -> {
                String fault = attempt(call, model.asText());
                if (fault != null) Main.report(Map.of("model", model.asText(), "call", name, "fault", fault));
                return null;
            }));
        }
        for (var each : Executors.newFixedThreadPool(4).invokeAll(tasks)) each.get();
        Main.report(Map.of("answers", tasks.size()));
    }

    private static Map<String, Consumer<String>> callsOf(Main.Clients clients) {
        Map<String, Consumer<String>> calls = new LinkedHashMap<>();
        calls.put("responses", model -> clients.vendor().responses().create(askResponses(model).build()).validate());
        calls.put("responses_streamed", model -> Streams.responses(clients, askResponses(model).build(), text -> {}).validate());
        calls.put("chat", model -> clients.vendor().chat().completions().create(askChat(model).build()).validate());
        calls.put("chat_streamed", model -> Streams.chat(clients, askChat(model).build(), text -> {}).validate());
        calls.put("messages", model -> clients.claude().messages().create(askMessages(model).build()).validate());
        calls.put("messages_streamed", model -> Streams.messages(clients, askMessages(model).build(), text -> {}).validate());
        return calls;
    }

    private static ResponseCreateParams.Builder askResponses(String model) {
        return ResponseCreateParams.builder().model(model).input("Hello");
    }

    private static ChatCompletionCreateParams.Builder askChat(String model) {
        return ChatCompletionCreateParams.builder().model(model).addUserMessage("Hello");
    }

    private static MessageCreateParams.Builder askMessages(String model) {
        return MessageCreateParams.builder().model(model).maxTokens(500).addUserMessage("Hello");
    }

    /** Returns why a client cannot read the answer. The sessions read the fields of errors. */
    private static String attempt(Consumer<String> call, String model) {
        try {
            call.accept(model);
            return null;
        } catch (OpenAIServiceException | AnthropicServiceException error) {
            return null;
        } catch (RuntimeException error) {
            StringBuilder reasons = new StringBuilder();
            for (Throwable each = error; each != null; each = each.getCause()) reasons.append(each).append(' ');
            return reasons.toString();
        }
    }
}
