import { Type } from 'typebox';
import { oneOf } from '../../schema/shapes.ts';
import type { Parameter } from '../operation.ts';

/** A parameter of the query with any text. */
export const textParameter = (description: string, more: Partial<Parameter> = {}): Parameter => ({
  description,
  schema: Type.String(),
  ...more,
});

/** A parameter with one of a list of words. */
export const wordParameter = (description: string, ...words: string[]): Parameter => ({
  description,
  schema: oneOf(...words),
});

export const integerParameter = (description: string, limits: { minimum: number; maximum?: number }): Parameter => ({
  description,
  schema: Type.Integer(limits),
});

export const offset = integerParameter('Rows to skip. 0 by default.', { minimum: 0 });
/** The query of lists in pages. */
export const page = { offset, limit: integerParameter('Rows of a page. 50 by default.', { minimum: 1, maximum: 100 }) };

export const workspaceId = textParameter('The id of a workspace.');
export const keyHash = textParameter('The hash of a key: 64 lower-case hex digits.');
export const memberId = textParameter('The id of a member.');

/** Headers of requests that make a run. */
export const runHeaders = {
  'X-Session-Id': textParameter('Requests of one session keep their provider. The body can name the session, too.'),
  'X-Router-Metadata': wordParameter('`enabled` adds `router_metadata` to the result.', 'enabled', 'disabled'),
};
