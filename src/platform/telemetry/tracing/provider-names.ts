/**
 * Ids of built-in providers that the GenAI conventions name differently. All others have their id.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/#gen-ai-provider-name
 */
export const otelProviderNames: Readonly<Record<string, string>> = {
  google: 'gcp.gemini',
  xai: 'x_ai',
  mistral: 'mistral_ai',
  azure: 'azure.ai.openai',
};
