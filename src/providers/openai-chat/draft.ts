import { GatewayError } from '../../domain/errors.ts';
import type { Target } from '../provider.ts';
import type { Dialect } from './dialect.ts';

/** What the functions that write one request share. */
export interface Draft {
  target: Target;
  dialect: Dialect;
  /** Paths of what was left out, for the metadata. */
  dropped: string[];
}

/**
 * For what would change the meaning of the request if it were left out. Another endpoint may well take it.
 *
 * @param path of the field: `input[3].content[0]`
 * @param what it is, as the subject of a sentence: `The hosted tool file_search`
 */
export function refuse({ target }: Draft, path: string, what: string): GatewayError {
  const message = `${what} cannot be sent to ${target.endpoint}: its chat completions format has no place for it.`;
  return new GatewayError('invalid_request', `${path}: ${message}`, {
    metadata: { issues: [{ path, message }] },
    retryable: true,
  });
}

/** The refusal of an `item_reference`: nothing is stored, so only the caller has the item. */
export function refuseReference({ target }: Draft, path: string, id: unknown): GatewayError {
  const message =
    `Nothing is stored, so ${target.endpoint} cannot look up the item ${String(id)}: send the item itself ` +
    '(Vercel AI SDK: providerOptions.openai.store = false).';
  return new GatewayError('invalid_request', `${path}: ${message}`, {
    metadata: { issues: [{ path, message }] },
    retryable: true,
  });
}

/**
 * Names the fields of an object that nobody carried. What says nothing (null, false, an empty list) needs no name.
 *
 * @param place makes the path of the object; only called when there is something to name
 */
export function dropUnknown(draft: Draft, object: object, known: ReadonlySet<string>, place: () => string): void {
  for (const key in object) {
    if (known.has(key)) continue;
    const value: unknown = object[key as keyof typeof object];
    if (value === null || value === undefined || value === false) continue;
    if (Array.isArray(value) && value.length === 0) continue;
    draft.dropped.push(`${place()}.${key}`);
  }
}
