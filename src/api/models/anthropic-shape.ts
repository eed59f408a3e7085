import type { IncomingHttpHeaders } from 'node:http';
import { type Issue, invalidRequest } from '../../domain/errors.ts';
import type { ModelRow } from '../../routing/model-rows.ts';

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1000;

/** Whether a client expects the shapes of Anthropic's API, whose clients send its version. */
export const isAnthropicClient = (headers: IncomingHttpHeaders): boolean => headers['anthropic-version'] !== undefined;

/** A model as Anthropic's API shows it. A field that the catalog does not know is null. */
export function writeAnthropicModel({ model, contextLength, endpoints }: ModelRow): Record<string, unknown> {
  const outputs = endpoints.flatMap(({ maxOutputTokens }) => maxOutputTokens ?? []);
  return {
    type: 'model',
    id: model.id,
    display_name: model.name,
    created_at: writeTime(model.created * 1000),
    lifecycle: 'active', // the list has no model after its last day
    line: null,
    max_input_tokens: contextLength ?? null,
    max_tokens: outputs.length === 0 ? null : Math.max(...outputs),
    capabilities: null,
    deprecated_at: null,
    retires_at: model.expirationDate === undefined ? null : writeTime(Date.parse(model.expirationDate)),
  };
}

const writeTime = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

/**
 * Writes a page of the list: `limit` models after `after_id`, or before `before_id`.
 *
 * @param rows newest first
 * @throws {GatewayError} `invalid_request` for an invalid limit or an unknown id
 * @see docs/reference/models.md#clients-of-anthropic
 */
export function writeAnthropicList(
  rows: readonly ModelRow[],
  query: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { start, end, hasMore } = findPage(
    rows.map(({ model }) => model.id),
    query,
  );
  const page = rows.slice(start, end);
  return {
    data: page.map(writeAnthropicModel),
    has_more: hasMore,
    first_id: page[0]?.model.id ?? null,
    last_id: page.at(-1)?.model.id ?? null,
  };
}

function findPage(ids: readonly string[], query: Readonly<Record<string, unknown>>) {
  const limit = readLimit(query['limit']);
  const after = findIndex(ids, 'after_id', query['after_id']);
  const before = findIndex(ids, 'before_id', query['before_id']);
  if (before === undefined) {
    const start = after === undefined ? 0 : after + 1;
    return { start, end: start + limit, hasMore: start + limit < ids.length };
  }
  const first = after === undefined ? 0 : after + 1;
  const start = Math.max(first, before - limit);
  return { start, end: before, hasMore: start > first };
}

function readLimit(text: unknown): number {
  if (text === undefined || text === '') return DEFAULT_LIMIT;
  const limit = /^\d+$/.test(String(text)) ? Number(text) : Number.NaN;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw refuse({ path: 'limit', message: `"${String(text).slice(0, 100)}" is not an integer from 1 to ${MAX_LIMIT}.` });
}

/** @returns undefined if the parameter is absent */
function findIndex(ids: readonly string[], path: string, id: unknown): number | undefined {
  if (id === undefined || id === '') return undefined;
  const index = ids.indexOf(String(id));
  if (index !== -1) return index;
  throw refuse({ path, message: `"${String(id).slice(0, 100)}" is not in the list of models.` });
}

const refuse = (issue: Issue) => invalidRequest([issue]);
