import { invalidRequest } from '../../domain/errors.ts';
import type { ModelRow } from '../../routing/model-rows.ts';

const DEFAULT_PAGE = 50;
const MAX_PAGE = 1000;

/**
 * Writes a model as Google's API shows it. Unknown limits are absent.
 *
 * @see docs/reference/gemini.md#models, https://ai.google.dev/api/models
 */
export function writeGeminiModel({ model, top, contextLength, parameters, output }: ModelRow): Record<string, unknown> {
  const outputTokenLimit = top?.maxOutputTokens ?? model.maxOutputTokens;
  return {
    name: `models/${model.id}`,
    version: model.canonicalSlug,
    displayName: model.name,
    description: model.description ?? '',
    ...(contextLength !== undefined && { inputTokenLimit: contextLength }),
    ...(outputTokenLimit !== undefined && { outputTokenLimit }),
    supportedGenerationMethods: [
      ...(output.includes('text') || output.includes('image') ? ['generateContent', 'countTokens'] : []),
      ...(output.includes('embeddings') ? ['embedContent', 'batchEmbedContents'] : []),
    ],
    ...(parameters.includes('reasoning') && { thinking: true }),
  };
}

/**
 * Writes a page of the list: `pageSize` models from the one that `pageToken` names.
 *
 * @throws {GatewayError} `invalid_request` for an invalid size or token
 */
export function writeGeminiList(
  rows: readonly ModelRow[],
  { pageSize, pageToken }: { pageSize?: unknown; pageToken?: unknown },
): Record<string, unknown> {
  const size = readWhole('pageSize', pageSize || undefined) || DEFAULT_PAGE;
  const start = readWhole('pageToken', pageToken || undefined);
  const end = start + Math.min(size, MAX_PAGE);
  return {
    models: rows.slice(start, end).map(writeGeminiModel),
    ...(end < rows.length && { nextPageToken: String(end) }),
  };
}

function readWhole(path: string, text: unknown): number {
  if (text === undefined) return 0;
  if (typeof text === 'string' && /^\d{1,9}$/.test(text)) return Number(text);
  throw invalidRequest([{ path, message: `"${String(text).slice(0, 100)}" is not a whole number of 0 or more.` }]);
}
