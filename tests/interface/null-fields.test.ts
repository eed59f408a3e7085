import { isDeepStrictEqual } from 'node:util';
import type { TSchema } from 'typebox';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../src/domain/errors.ts';
import { wires } from '../../src/providers/index.ts';
import { chatSchema } from '../../src/requests/chat/schema.ts';
import { checkCompletionBody, readCompletion } from '../../src/requests/completions/request.ts';
import { completionSchema } from '../../src/requests/completions/schema.ts';
import { readEmbeddingRequest } from '../../src/requests/embeddings/request.ts';
import { embeddingSchema } from '../../src/requests/embeddings/schema.ts';
import { readImageRequest } from '../../src/requests/images/request.ts';
import { imageSchema } from '../../src/requests/images/schema.ts';
import { messagesSchema } from '../../src/requests/messages/schema.ts';
import { readRerankRequest } from '../../src/requests/rerank/request.ts';
import { rerankSchema } from '../../src/requests/rerank/schema.ts';
import { requestSchema } from '../../src/requests/responses/schema.ts';
import type { ResponseRequest } from '../../src/domain/request.ts';
import { columns } from '../wires/matrix.ts';
import { apis } from '../wires/text-apis.ts';
import { walkFields, withoutNulls } from './walk-fields.ts';

type Fields = Record<string, unknown>;

/** Returns what a provider would get, or the error of the request. */
function outcomeOf(read: () => unknown): unknown {
  try {
    return withoutNulls(read());
  } catch (error) {
    if (error instanceof GatewayError) return { error: error.message };
    throw error;
  }
}

const [acceptResponse, acceptChat, acceptMessage] = apis.map(
  ({ accept }) =>
    (body: unknown) =>
      accept(body).request,
);

/** Writes a request for every wire. */
const writeAll = (request: ResponseRequest): unknown =>
  Object.entries(columns).map(([wireId, upstreamModel]) =>
    outcomeOf(() => {
      const target = { endpoint: 'acme/one at Acme', upstreamModel, stream: false, dialect: {} };
      const { body, dropped } = wires.get(wireId)!.text!.writeRequest(structuredClone(request), target);
      return { body, dropped };
    }),
  );

const user = { role: 'user', content: 'hi' };
const hints = { maxItems: 10, setting: 'limit' };

/** Each API with the fields that its body needs, and what becomes of a body. */
const bodies: [api: string, schema: TSchema, needed: Fields, read: (body: unknown) => unknown][] = [
  ['responses', requestSchema, { model: 'acme/one', input: 'hi' }, (body) => writeAll(acceptResponse!(body))],
  ['chat completions', chatSchema, { model: 'acme/one', messages: [user] }, (body) => writeAll(acceptChat!(body))],
  [
    'completions',
    completionSchema,
    { model: 'acme/one', prompt: 'hi' },
    (body) => writeAll(readCompletion(checkCompletionBody(body), {}).read.request),
  ],
  ['messages', messagesSchema, { model: 'acme/one', messages: [user] }, (body) => writeAll(acceptMessage!(body))],
  ['images', imageSchema, { model: 'acme/one', prompt: 'a cat' }, (body) => readImageRequest(body, {}).request],
  [
    'embeddings',
    embeddingSchema,
    { model: 'acme/one', input: 'hi' },
    (body) => readEmbeddingRequest(body, hints).request,
  ],
  [
    'rerank',
    rerankSchema,
    { model: 'acme/one', query: 'q', documents: ['d'] },
    (body) => readRerankRequest(body, hints).request,
  ],
];

describe.each(bodies)('null in a body of %s', (_, schema, needed, read) => {
  const fields = [...walkFields(schema)].filter(({ isOptional }) => isOptional);

  it('is the same as no value, in every optional field at every depth', () => {
    expect(fields.length).toBeGreaterThan(5);
    const wrong = fields.flatMap(({ path, place }) => {
      const { [path]: _, ...others } = needed; // `path` is one of them only at the top
      const [absent, given] = [place(), place(null)].map((part) =>
        outcomeOf(() => read({ ...others, ...(part as Fields) })),
      );
      return isDeepStrictEqual(absent, given) ? [] : [{ path, absent, given }];
    });
    expect(wrong).toEqual([]);
  });
});
