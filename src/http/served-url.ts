import type { IncomingMessage } from 'node:http';
import { withoutAzure } from './azure-paths.ts';
import { GEMINI_BASE } from './gemini-paths.ts';

/** The routes of clients. Others, such as `/keys`, have one path only, so that a proxy can restrict access to them. */
const operations = '(?:chat\\/completions|completions|embeddings|images|messages|models|rerank|responses)';

/**
 * A path whose base URL has more or less than `/api/v1`: without it, with that of another service, or with a whole path.
 * Clients of Cohere add `/v2/rerank`. Source: https://docs.cohere.com/v2/reference/rerank
 */
const openPath = new RegExp(
  `^(?:\\/+(?:api|v1|v2(?=(?:\\/+v[12]){0,2}\\/+rerank(?:[/?]|$))|openai|anthropic|v1beta\\/openai|chat\\/completions|messages|responses))*\\/+(?=${operations}(?:[/?]|$))`,
);

/** The same for clients of Google, which add the version. */
const googlePath = /^(?:\/+(?:api|v1|gemini|google))*\/+v1(?:beta|alpha)\/+(?=(?:models|tunedModels)(?:[/?]|$))/;

/**
 * The same for clients of Vertex AI, whose paths name the project, the location and the publisher. They make
 * `publishers/openai/models/gpt-5` of the model `openai/gpt-5`, and `publishers/google/…` of one without an author.
 * Source: https://github.com/googleapis/python-genai/pull/1684
 */
const vertexPath =
  /^(?:\/+(?:api|v1|gemini|google))*\/+v1(?:beta1|beta)?\/+(?:projects\/[^/?]+\/locations\/[^/?]+\/)?publishers\/([^/?]+)\/models\//;
const withoutVertex = (_: string, publisher: string): string =>
  `${GEMINI_BASE}/models/${publisher === 'google' ? '' : `${publisher}/`}`;

/**
 * Returns the URL of the route that a request means. Clients add `/v1/messages`, `/chat/completions` or `/v1beta/models` to a base
 * URL, and a wrong one is the most frequent mistake: agents report its 404 as an unknown model.
 *
 * @see docs/reference/http.md#paths
 */
export const findServedUrl = (request: IncomingMessage): string =>
  withoutAzure(request)
    .replace(googlePath, `${GEMINI_BASE}/`)
    .replace(vertexPath, withoutVertex)
    .replace(openPath, '/api/v1/');
