import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.ApiResponse;
import org.openapitools.client.JSON;
import org.openapitools.client.api.*;

/** Calls a gateway with the client that openapi-generator has written. See ../go/main.go, which has the same input and output. */
public final class Main {
    private static final List<Class<?>> APIS = List.of(
            AccountingApi.class,
            GatewayApi.class,
            GenerationsApi.class,
            GuardrailsApi.class,
            InferenceApi.class,
            KeysApi.class,
            MembersApi.class,
            ModelsApi.class,
            PresetsApi.class,
            WorkspacesApi.class);

    public static void main(String[] arguments) throws Exception {
        JsonObject given = JsonParser.parseReader(new InputStreamReader(System.in)).getAsJsonObject();
        JsonArray calls = given.getAsJsonArray("calls");
        for (JsonElement each : calls) {
            JsonObject call = each.getAsJsonObject();
            String fault = attempt(given, call);
            if (fault != null) {
                String operation = call.get("operation").getAsString();
                System.out.println(new Gson().toJson(Map.of("operation", operation, "fault", fault)));
            }
        }
        System.out.println(new Gson().toJson(Map.of("answers", calls.size())));
        System.exit(0);
    }

    /** Returns why the client cannot read the answer. */
    private static String attempt(JsonObject given, JsonObject call) throws Exception {
        String key = given.getAsJsonObject("keys").get(call.get("key").getAsString()).getAsString();
        int status = call.get("status").getAsInt();
        ApiClient client = new ApiClient();
        client.setBasePath(given.get("base_url").getAsString());
        client.addDefaultHeader("Authorization", "Bearer " + key);
        Method method = findMethod(call.get("operation").getAsString());
        try {
            Object api = method.getDeclaringClass().getConstructor(ApiClient.class).newInstance(client);
            ApiResponse<?> answer = (ApiResponse<?>) method.invoke(api, readArguments(method, call));
            if (answer.getStatusCode() != status) return "the status is " + answer.getStatusCode();
            return answer.getData() == null ? "the answer is not read" : null;
        } catch (InvocationTargetException error) {
            if (error.getCause() instanceof ApiException failure && failure.getCode() == status) return null;
            return String.valueOf(error.getCause());
        } catch (RuntimeException error) {
            return String.valueOf(error);
        }
    }

    private static Method findMethod(String operation) {
        return APIS.stream()
                .flatMap(api -> Arrays.stream(api.getMethods()))
                .filter(method -> method.getName().equals(operation + "WithHttpInfo"))
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("the client has no method " + operation));
    }

    /** Reads the values of the parameters: parts of the path, the body, and the query by name. */
    private static Object[] readArguments(Method method, JsonObject call) {
        Parameter[] parameters = method.getParameters();
        JsonArray path = call.has("path") ? call.getAsJsonArray("path") : new JsonArray();
        JsonObject query = call.has("query") ? call.getAsJsonObject("query") : new JsonObject();
        Object[] values = new Object[parameters.length];
        for (int index = 0; index < values.length; index++) {
            Parameter parameter = parameters[index];
            JsonElement value = query.get(parameter.getName());
            if (index < path.size()) value = path.get(index);
            else if (parameter.getType().getName().startsWith("org.openapitools.client.model.")) value = call.get("body");
            if (value != null) values[index] = JSON.getGson().fromJson(value, parameter.getParameterizedType());
        }
        return values;
    }
}
