import com.anthropic.errors.AnthropicServiceException;
import com.anthropic.models.messages.ContentBlockParam;
import com.anthropic.models.messages.Message;
import com.anthropic.models.messages.MessageCountTokensParams;
import com.anthropic.models.messages.MessageCreateParams;
import com.anthropic.models.messages.Tool;
import com.anthropic.models.messages.ToolResultBlockParam;
import com.openai.core.JsonValue;
import com.openai.errors.OpenAIInvalidDataException;
import com.openai.errors.OpenAIServiceException;
import com.openai.models.FunctionDefinition;
import com.openai.models.FunctionParameters;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import com.openai.models.responses.EasyInputMessage;
import com.openai.models.responses.FunctionTool;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseIncludable;
import com.openai.models.responses.ResponseInputItem;
import com.openai.models.responses.ResponseOutputItem;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

/** The steps of a session in each API. Each step is one request, in this order. */
final class Sessions {
    private static final String PROMPT = "Well?";
    private static final Map<String, Object> PROPERTIES = Map.of("city", Map.of("type", "string"));

    private Sessions() {}

    /** A structured answer. The clients make its schema. */
    public static final class City {
        public String city;
    }

    /** The calls of a model, and its answer to their results. */
    record ToolUse(List<String> calls, String answer) {}

    interface Api {
        String name();

        String text(String model);

        void stream(String model, Consumer<String> atText);

        ToolUse useTools(String model);

        String format(String model);

        /** Returns null if the API does not count. */
        Long count(String model);
    }

    static List<Api> apis(Main.Clients clients) {
        return List.of(new Responses(clients), new Chat(clients), new Messages(clients));
    }

    private static final class Stopped extends RuntimeException {}

    static Map<String, Object> run(Api api, String model) {
        Map<String, Object> session = new LinkedHashMap<>();
        List<String> faults = new ArrayList<>();
        session.put("api", api.name());
        attempt(faults, () -> session.put("text", api.text(model)));
        StringBuilder streamed = new StringBuilder();
        attempt(faults, () -> api.stream(model, streamed::append));
        session.put("streamed", streamed.toString());
        attempt(faults, () -> {
            ToolUse use = api.useTools(model);
            session.put("calls", use.calls());
            session.put("answer", use.answer());
        });
        attempt(faults, () -> session.put("structured", api.format(model)));
        attempt(faults, () -> session.put("busy", readFailure(() -> api.text(model))));
        attempt(faults, () -> session.put("unknown", readFailure(() -> api.text("unknown/model"))));
        session.put("cancelled", false);
        attempt(faults, () -> {
            try {
                api.stream(model, text -> {
                    throw new Stopped();
                });
            } catch (Stopped expected) {
                session.put("cancelled", true);
            }
        });
        attempt(faults, () -> session.put("tokens", api.count(model)));
        session.put("faults", faults);
        return session;
    }

    private static void attempt(List<String> faults, Runnable step) {
        try {
            step.run();
        } catch (RuntimeException error) {
            faults.add(error + " " + error.getCause());
        }
    }

    private static Map<String, Object> readFailure(Runnable step) {
        try {
            step.run();
            return null;
        } catch (OpenAIServiceException error) {
            return Map.of(
                    "status", error.statusCode(),
                    "code", readText(error::code),
                    "type", readText(error::type),
                    "message", String.valueOf(error.getMessage()));
        } catch (AnthropicServiceException error) {
            return Map.of(
                    "status", error.statusCode(),
                    "code", "",
                    "type", error.errorType().map(Object::toString).orElse(""),
                    "message", error.body().toString());
        }
    }

    /** Returns the error of the client if the field is no text, such as the numbers of the Responses API. */
    private static String readText(Supplier<Optional<String>> field) {
        try {
            return field.get().orElse("");
        } catch (OpenAIInvalidDataException error) {
            return error.getMessage();
        }
    }

    private record Responses(Main.Clients clients) implements Api {
        public String name() {
            return "responses";
        }

        private ResponseCreateParams.Builder ask(String model) {
            return ResponseCreateParams.builder().model(model).input(PROMPT);
        }

        private String textOf(Response response) {
            StringBuilder text = new StringBuilder();
            response.validate().output().forEach(item -> item.message().ifPresent(message -> message.content()
                    .forEach(part -> part.outputText().ifPresent(each -> text.append(each.text())))));
            return text.toString();
        }

        public String text(String model) {
            return textOf(clients.vendor().responses().create(ask(model).build()));
        }

        public void stream(String model, Consumer<String> atText) {
            Streams.responses(clients, ask(model).build(), atText);
        }

        public ToolUse useTools(String model) {
            FunctionTool.Parameters parameters = FunctionTool.Parameters.builder()
                    .putAdditionalProperty("type", JsonValue.from("object"))
                    .putAdditionalProperty("properties", JsonValue.from(PROPERTIES))
                    .putAdditionalProperty("required", JsonValue.from(List.of("city")))
                    .putAdditionalProperty("additionalProperties", JsonValue.from(false))
                    .build();
            ResponseCreateParams.Builder ask = ask(model)
                    .addInclude(ResponseIncludable.REASONING_ENCRYPTED_CONTENT)
                    .addTool(FunctionTool.builder().name("get_weather").parameters(parameters).strict(true).build());
            Response first = Streams.responses(clients, ask.build(), text -> {}).validate();
            List<ResponseInputItem> input = new ArrayList<>();
            List<ResponseInputItem> results = new ArrayList<>();
            List<String> calls = new ArrayList<>();
            input.add(ResponseInputItem.ofEasyInputMessage(
                    EasyInputMessage.builder().role(EasyInputMessage.Role.USER).content(PROMPT).build()));
            for (ResponseOutputItem item : first.output()) {
                item.reasoning().map(ResponseInputItem::ofReasoning).ifPresent(input::add);
                item.message().map(ResponseInputItem::ofResponseOutputMessage).ifPresent(input::add);
                item.functionCall().ifPresent(call -> {
                    calls.add(call.name() + call.arguments());
                    input.add(ResponseInputItem.ofFunctionCall(call));
                    results.add(ResponseInputItem.ofFunctionCallOutput(ResponseInputItem.FunctionCallOutput.builder()
                            .callId(call.callId())
                            .output("sunny")
                            .build()));
                });
            }
            input.addAll(results);
            return new ToolUse(
                    calls, textOf(clients.vendor().responses().create(ask.inputOfResponse(input).build())));
        }

        public String format(String model) {
            var response = clients.vendor().responses().create(ask(model).text(City.class).build());
            response.rawResponse().validate();
            return response.output().stream()
                    .flatMap(item -> item.message().stream())
                    .flatMap(message -> message.content().stream())
                    .flatMap(part -> part.outputText().stream())
                    .map(each -> each.city)
                    .findFirst()
                    .orElseThrow();
        }

        public Long count(String model) {
            return null;
        }
    }

    private record Chat(Main.Clients clients) implements Api {
        public String name() {
            return "chat";
        }

        private ChatCompletionCreateParams.Builder ask(String model) {
            return ChatCompletionCreateParams.builder().model(model).addUserMessage(PROMPT);
        }

        private String complete(ChatCompletionCreateParams ask) {
            ChatCompletion completion = clients.vendor().chat().completions().create(ask).validate();
            return completion.choices().get(0).message().content().orElse("");
        }

        public String text(String model) {
            return complete(ask(model).build());
        }

        public void stream(String model, Consumer<String> atText) {
            Streams.chat(clients, ask(model).build(), atText);
        }

        public ToolUse useTools(String model) {
            FunctionParameters parameters = FunctionParameters.builder()
                    .putAdditionalProperty("type", JsonValue.from("object"))
                    .putAdditionalProperty("properties", JsonValue.from(PROPERTIES))
                    .putAdditionalProperty("required", JsonValue.from(List.of("city")))
                    .build();
            ChatCompletionCreateParams.Builder ask = ask(model)
                    .addFunctionTool(FunctionDefinition.builder().name("get_weather").parameters(parameters).build());
            ChatCompletion first = Streams.chat(clients, ask.build(), text -> {}).validate();
            var message = first.choices().get(0).message();
            ask.addMessage(message);
            List<String> calls = new ArrayList<>();
            message.toolCalls().orElseThrow().forEach(each -> {
                var call = each.asFunction();
                calls.add(call.function().name() + call.function().arguments());
                ask.addMessage(ChatCompletionToolMessageParam.builder().toolCallId(call.id()).content("sunny").build());
            });
            return new ToolUse(calls, complete(ask.build()));
        }

        public String format(String model) {
            var completion = clients.vendor().chat().completions().create(ask(model).responseFormat(City.class).build());
            completion.rawChatCompletion().validate();
            return completion.choices().get(0).message().content().orElseThrow().city;
        }

        public Long count(String model) {
            return null;
        }
    }

    private record Messages(Main.Clients clients) implements Api {
        public String name() {
            return "messages";
        }

        private MessageCreateParams.Builder ask(String model) {
            return MessageCreateParams.builder().model(model).maxTokens(500).addUserMessage(PROMPT);
        }

        private String complete(MessageCreateParams ask) {
            StringBuilder text = new StringBuilder();
            Message message = clients.claude().messages().create(ask).validate();
            message.content().forEach(block -> block.text().ifPresent(each -> text.append(each.text())));
            return text.toString();
        }

        public String text(String model) {
            return complete(ask(model).build());
        }

        public void stream(String model, Consumer<String> atText) {
            Streams.messages(clients, ask(model).build(), atText);
        }

        public ToolUse useTools(String model) {
            Tool.InputSchema schema = Tool.InputSchema.builder()
                    .properties(com.anthropic.core.JsonValue.from(PROPERTIES))
                    .required(List.of("city"))
                    .build();
            MessageCreateParams.Builder ask = ask(model).addTool(Tool.builder().name("get_weather").inputSchema(schema).build());
            Message first = Streams.messages(clients, ask.build(), text -> {}).validate();
            ask.addMessage(first);
            List<String> calls = new ArrayList<>();
            List<ContentBlockParam> results = new ArrayList<>();
            first.content().forEach(block -> block.toolUse().ifPresent(call -> {
                calls.add(call.name() + call._input());
                results.add(ContentBlockParam.ofToolResult(
                        ToolResultBlockParam.builder().toolUseId(call.id()).content("sunny").build()));
            }));
            return new ToolUse(calls, complete(ask.addUserMessageOfContentBlockParams(results).build()));
        }

        public String format(String model) {
            var message = clients.claude().messages().create(ask(model).outputConfig(City.class).build());
            message.rawMessage().validate();
            return message.content().stream()
                    .flatMap(block -> block.text().stream())
                    .map(each -> each.text().city)
                    .findFirst()
                    .orElseThrow();
        }

        public Long count(String model) {
            return clients.claude()
                    .messages()
                    .countTokens(MessageCountTokensParams.builder().model(model).addUserMessage(PROMPT).build())
                    .inputTokens();
        }
    }
}
