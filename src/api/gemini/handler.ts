import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../../domain/errors.ts';
import type { Route } from '../../http/routes.ts';
import type { Run } from '../../pipeline/run/run.ts';
import { committedOf } from '../../pipeline/run/step.ts';
import {
  checkGeminiBody,
  citeGeminiBody,
  type GeminiTarget,
  readGeminiInput,
  readGeminiRequest,
} from '../../requests/gemini/request.ts';
import type { GeminiBody } from '../../requests/gemini/schema.ts';
import { isObject } from '../../schema/by-kind.ts';
import type { RenameFields } from '../../requests/rename-fields.ts';
import type { RequestHints } from '../../requests/request-hints.ts';
import type { ParsedRequest } from '../../requests/responses/request.ts';
import { createCountHandler } from '../count-tokens.ts';
import type { EmbeddingsParts } from '../embeddings/handler.ts';
import { checkAccepted } from '../responses/accept-request.ts';
import { type AcceptedText, createTextHandler, type TextParts, withNames } from '../serve-text.ts';
import type { GeminiFacts } from './content-events.ts';
import { ContentFormat, foldContent } from './content-format.ts';
import { createGeminiEmbedHandler } from './embeddings.ts';
import { type ReadCatalog, readGeminiPath } from './target.ts';

/**
 * `POST /v1beta/models/{model}:{action}`.
 *
 * @see docs/reference/gemini.md
 */
export function createGeminiHandler(
  parts: TextParts,
  embeddings: EmbeddingsParts,
  catalog: ReadCatalog,
): Route['handler'] {
  const targetOf = (request: FastifyRequest, stream: boolean): GeminiTarget => ({
    model: readGeminiPath(request, catalog).model,
    stream,
  });
  const actions: ReadonlyMap<string, Route['handler']> = new Map([
    [
      'generateContent',
      createTextHandler(parts, (request, hints) => acceptContent(request, hints, targetOf(request, false))),
    ],
    [
      'streamGenerateContent',
      createTextHandler(parts, (request, hints) => acceptContent(request, hints, targetOf(request, true))),
    ],
    [
      'countTokens',
      createCountHandler(parts, {
        accept: (request, hints) => readContent(request, findCounted(request.body), hints, targetOf(request, false)),
        write: (totalTokens) => ({ totalTokens }),
      }),
    ],
    ['embedContent', createGeminiEmbedHandler(embeddings, catalog, false)],
    ['batchEmbedContents', createGeminiEmbedHandler(embeddings, catalog, true)],
  ]);
  const names = [...actions.keys()].map((name) => `:${name}`).join(', ');
  return (request, reply) => {
    const { action } = readGeminiPath(request, catalog);
    const handle = actions.get(action);
    if (handle) return handle(request, reply);
    if (action === '') {
      reply.header('allow', 'GET, HEAD');
      throw new GatewayError(
        'method_not_allowed',
        `A model without an action does not support POST. Use GET, HEAD. Actions: ${names}.`,
      );
    }
    throw new GatewayError('not_found', `The action :${action.slice(0, 100)} is not offered. Use ${names}.`);
  };
}

interface ReadContent {
  body: GeminiBody;
  read: ParsedRequest;
  rename: RenameFields;
}

/** @throws {GatewayError} `invalid_request` and `unprocessable`, with the paths of the body */
function readContent(
  { rawBody }: FastifyRequest,
  given: unknown,
  hints: RequestHints,
  target: GeminiTarget,
): ReadContent {
  const body = checkGeminiBody(given);
  const rename = citeGeminiBody(() => findCounted(JSON.parse(String(rawBody))));
  const read = withNames(rename, () => checkAccepted(readGeminiRequest(body, target, hints), hints));
  return { body, read, rename };
}

/** Returns the request to count: `contents` may be in the body itself. */
function findCounted(body: unknown): unknown {
  const { generateContentRequest, generate_content_request: older } = (body ?? {}) as Record<string, unknown>;
  return generateContentRequest ?? older ?? body;
}

const nativeOf = (run: Run) => (committedOf(run) ?? run.steps.at(-1)?.attempts.at(-1))?.native;

function acceptContent(request: FastifyRequest, hints: RequestHints, target: GeminiTarget): AcceptedText {
  const { body, read, rename } = readContent(request, request.body, hints, target);
  const { alt } = request.query as { alt?: unknown }; // as Fastify parses a query string
  const showsThoughts = body.generationConfig?.thinkingConfig?.includeThoughts === true;
  const factsOf = (run: Run): GeminiFacts => ({
    rename,
    showsThoughts,
    isNative: () => nativeOf(run) !== undefined,
    readEnd: () => nativeOf(run)?.end,
  });
  const { labels } = body as { labels?: unknown }; // the metadata of the format
  return {
    read,
    metadata: isObject(labels) ? labels : undefined,
    metadataField: 'labels',
    readItems: readGeminiInput,
    openFormat: (run) => new ContentFormat(factsOf(run), alt !== 'sse'),
    writeWhole: (response, run) => JSON.stringify(foldContent(response, factsOf(run))),
    rename,
    returnsReasoning: true,
    onlyOfferedCalls: true,
  };
}
