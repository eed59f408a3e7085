/**
 * Ids of built-in providers that have another name in the GenAI conventions. All other providers use their id.
 *
 * @see https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/#gen-ai-provider-name
 */
export const otelProviderNames: Readonly<Record<string, string>> = {
  google: 'gcp.gemini',
  xai: 'x_ai',
  mistral: 'mistral_ai',
  azure: 'azure.ai.openai',
};
