import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.models.embeddings.CreateEmbeddingResponse;
import com.openai.models.embeddings.EmbeddingCreateParams;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Runs the official clients for Java through a gateway. Gets the gateways on standard input, and prints one JSON object per line:
 * the result of each session, then each recorded answer that a client cannot read, then the number of answers.
 */
public final class Main {
    private static final ObjectMapper JSON = new ObjectMapper();

    record Clients(OpenAIClient vendor, AnthropicClient claude) {
        static Clients connect(JsonNode gateway) {
            String baseUrl = gateway.get("base_url").asText();
            String key = gateway.get("key").asText();
            return new Clients(
                    OpenAIOkHttpClient.builder().baseUrl(baseUrl).apiKey(key).maxRetries(0).responseValidation(true).build(),
                    AnthropicOkHttpClient.builder()
                            .baseUrl(baseUrl.replaceAll("/v1$", ""))
                            .apiKey(key)
                            .maxRetries(0)
                            .responseValidation(true)
                            .build());
        }
    }

    static synchronized void report(Object value) throws Exception {
        System.out.println(JSON.writeValueAsString(value));
    }

    public static void main(String[] arguments) throws Exception {
        JsonNode input = JSON.readTree(System.in);
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Callable<Void>> sessions = new ArrayList<>();
        for (JsonNode session : input.get("sessions")) {
            sessions.add(() -> {
                Clients clients = Clients.connect(session);
                for (Sessions.Api api : Sessions.apis(clients)) {
                    var result = Sessions.run(api, session.get("model").asText());
                    result.put("id", session.get("id").asText());
                    report(result);
                }
                return null;
            });
        }
        for (Future<Void> each : threads.invokeAll(sessions)) each.get();
        report(embed(input.get("embeddings")));
        Recordings.read(Clients.connect(input.get("recordings")), input.get("recordings").get("models"));
        System.exit(0);
    }

    private static Map<String, Object> embed(JsonNode gateway) {
        try {
            CreateEmbeddingResponse embeddings = Clients.connect(gateway)
                    .vendor()
                    .embeddings()
                    .create(EmbeddingCreateParams.builder()
                            .model(gateway.get("model").asText())
                            .inputOfArrayOfStrings(List.of("a red fox", "a blue bird"))
                            .build());
            return Map.of("vectors", embeddings.validate().data().size(), "faults", List.of());
        } catch (RuntimeException error) {
            return Map.of("faults", List.of(error.toString()));
        }
    }
}
