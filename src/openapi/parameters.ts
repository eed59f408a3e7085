import { Type } from 'typebox';
import type { Parameter } from '../http/operation.ts';

/** A parameter of the query with any text. */
export const textParameter = (description: string, more: Partial<Parameter> = {}): Parameter => ({
  description,
  schema: Type.String(),
  ...more,
});

/** A parameter with a text of a shape. */
export const shapedParameter = (description: string, pattern: string, more: Partial<Parameter> = {}): Parameter => ({
  description,
  schema: Type.String({ pattern }),
  ...more,
});

const matchOne = (words: readonly string[]): string =>
  `(?:${words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|')})`;

/** A parameter with one of a list of words. An empty parameter is an absent one, so it has no `enum`. */
export const wordParameter = (description: string, ...words: string[]): Parameter =>
  shapedParameter(description, `^${matchOne(words)}?$`);

/** A parameter with some of a list of words, and commas between them. */
export const wordsParameter = (description: string, words: readonly string[]): Parameter => {
  const word = matchOne(words);
  return shapedParameter(description, `^(?:${word}(?:,${word})*)?$`);
};

export const integerParameter = (
  description: string,
  limits: { minimum: number; maximum?: number; default?: number },
): Parameter => ({
  description,
  schema: Type.Integer(limits),
});

export const offset = integerParameter('Rows to skip. 0 by default.', {
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
});
/** The query of lists in pages. */
export const pageQuery = {
  offset,
  limit: integerParameter('Rows of a page. 50 by default.', { minimum: 1, maximum: 100 }),
};

export const workspaceId = textParameter('The id of a workspace.');
const uuid = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}';
/** The same for routes that check its shape. */
export const workspaceUuid = shapedParameter('The id of a workspace.', `^(?:${uuid})?$`);
export const keyHash = shapedParameter('The hash of a key: 64 lower-case hex digits.', '^(?:[0-9a-f]{64})?$');
export const endUser = textParameter('An end user: the hash that generations show, or with `workspace_id` its id.');
export const memberId = textParameter('The id of a member.');

/** Without an `enum`, because other values are accepted. */
const metadataHeader = textParameter('`enabled` adds `router_metadata` to the result. Every other value adds none.');

/** Headers of requests that make a run. */
export const runHeaders = {
  'X-Session-Id': textParameter('Requests of one session keep their provider. The body can name the session, too.'),
  'X-Headgate-Tags': textParameter('Tags with keys of the configuration: `team=search, feature=summary`.'),
  'X-Router-Metadata': metadataHeader,
  'X-Router-Experimental-Metadata': { ...metadataHeader, deprecated: true },
};
