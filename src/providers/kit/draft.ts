import { GatewayError } from '../../domain/errors.ts';
import { itemTypes, partTypes, toolTypes } from '../../domain/items.ts';
import { NATIVE_FIELD, nameKind } from '../../domain/native.ts';
import { findNearestName } from '../../domain/nearest-name.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { Target, UpstreamRequest } from '../wire.ts';
import type { OfferedTool } from './offered-tools.ts';

/** The state that the functions writing one request share. */
export interface Draft {
  target: Target;
  /** The name of the wire for messages: `chat completions`. */
  format: string;
  /** Paths of omitted fields, for the metadata. */
  dropped: string[];
  /** Changes without a loss, for the metadata. */
  readonly adapted: Set<string>;
  /** Stop texts that the server does not get, so that the gateway applies them. */
  appliedStops?: readonly string[];
  /** Name of a tool at the server → name of the client, for a wire whose reader does not translate names. */
  names?: Map<string, string>;
  /** Function at the server → tool of the client, for a wire whose reader does not translate calls. */
  offered?: Map<string, OfferedTool>;
  /** Tool of the client → property at the server → property of the client, where the names differ. */
  properties?: Map<string, ReadonlyMap<string, string>>;
  /** Whether the wire writes the fields of its own format that a client of that format has sent. */
  keepsNative?: boolean;
  /** Whether a function may have a mark of the prompt cache. */
  marksTools?: boolean;
}

/**
 * Creates the error for a field whose omission would change the meaning. Another endpoint may support the field.
 *
 * @param path the path of the field: `input[3].content[0]`
 * @param what the field, as the subject of a sentence: `The hosted tool file_search`
 */
export function refuse(draft: Draft, path: string, what: string): GatewayError {
  return refuseBecause(path, describeMissing(draft, what));
}

const describeMissing = ({ target, format }: Draft, what: string): string =>
  `${what} cannot be sent to ${target.endpoint}: its ${format} format has no place for it.`;

/** The known types of items, parts and tools. */
const knownKinds = { item: itemTypes, part: partTypes, tool: toolTypes };

/** Hosted tools that the gateway has already offered to run in a sandbox where it has one for them. */
export const shellTools: ReadonlySet<string> = new Set(['shell', 'local_shell']);

/**
 * Creates the error for an item, a part or a tool that the wire cannot carry. An unknown kind may be a misspelling.
 */
export function refuseKind(draft: Draft, path: string, what: keyof typeof knownKinds, given: string): GatewayError {
  const known = knownKinds[what];
  const type = nameKind(given);
  const nearest = known.has(type) ? undefined : (nameOwn(type) ?? findNearestName(type, known));
  const isShell = what === 'tool' && shellTools.has(type);
  const remedy = isShell ? ' No sandbox of the gateway can run it, either.' : '';
  const hint = nearest === undefined ? remedy : ` Did you mean ${nearest}?`;
  return refuseBecause(path, `${describeMissing(draft, `The ${what} ${type.slice(0, 100)}`)}${hint}`);
}

/** Returns the name of the gateway for a server tool of OpenRouter, or an item of one. */
const nameOwn = (type: string): string | undefined =>
  type.startsWith('openrouter:') ? type.slice('open'.length) : undefined;

/** @param message a complete sentence that names the endpoint */
export function refuseBecause(path: string, message: string): GatewayError {
  return new GatewayError('invalid_request', `${path}: ${message}`, {
    metadata: { issues: [{ path, message }] },
    retryable: true,
  });
}

/** The remedy if a request refers to an item that only the caller has. */
export const sendTheItem = 'send the item itself (Vercel AI SDK: providerOptions.openai.store = false)';

/** Creates the error for an `item_reference`. The gateway stores nothing, so only the caller has the item. */
export function refuseReference({ target }: Draft, path: string, id: unknown): GatewayError {
  return refuseBecause(
    path,
    `Nothing is stored, so ${target.endpoint} cannot look up the item ${String(id)}: ${sendTheItem}.`,
  );
}

/**
 * Adds the fields of an object that are not carried to `dropped`, except empty values (null, false, an empty list).
 *
 * @param place returns the path of the object; called only if there is a field to add
 */
export function dropUnknown(draft: Draft, object: object, known: ReadonlySet<string>, place: () => string): void {
  for (const key in object) {
    if (known.has(key) || (key === NATIVE_FIELD && draft.keepsNative)) continue;
    if (saysSomething(object[key as keyof typeof object])) draft.dropped.push(`${place()}.${key}`);
  }
}

/** Fields that the gateway handles before every wire: the model, routing, plugins, stored state. */
const gatewayFields: ReadonlySet<string> = new Set([
  'background',
  'debug',
  'max_tool_calls',
  'model',
  'models',
  'plugins',
  'previous_response_id',
  'prompt',
  'provider',
  'route',
  'session_id',
  'stop_server_tools_when',
  'store',
  'stream',
  'trace',
]);

/** Adds the marks of the prompt cache to `dropped`, once, because they change only the cost. */
export function dropMark({ dropped }: Pick<Draft, 'dropped'>): void {
  if (!dropped.includes('cache_control')) dropped.push('cache_control');
}

/**
 * Adds the fields with a value that neither the wire nor the gateway handles to `dropped`.
 *
 * @param written fields that the wire writes
 */
export function dropRest(draft: Draft, request: object, written: ReadonlySet<string>): void {
  for (const name in request) {
    if (gatewayFields.has(name) || written.has(name)) continue;
    const value: unknown = request[name as keyof typeof request];
    if (isSet(value) && !(Array.isArray(value) && value.length === 0)) draft.dropped.push(name);
  }
}

/** Returns the changes that a draft made to fit its request to the server. */
export function listAdaptations({ adapted, appliedStops: stops, properties, names, offered }: Draft) {
  const restore = {
    ...(stops && { stops }),
    ...(properties && { properties }),
    ...(names && { names }),
    ...(offered && { offered }),
  };
  return {
    ...(adapted.size > 0 && { adapted: [...adapted] }),
    ...(Object.keys(restore).length > 0 && { restore }),
  } satisfies Partial<UpstreamRequest>;
}

/** Adds the values of `include` that have no effect to `dropped`. */
export function dropInclude({ dropped }: Draft, { include }: ResponseRequest, supported: ReadonlySet<string>): void {
  for (const name of include ?? []) if (!supported.has(name)) dropped.push(`include (${name})`);
}

/** The fields of a part that can contain an image or a file, or its place. */
const sourceFields = ['file_data', 'image_url', 'file_url', 'file_id'];

/**
 * Adds the sources of a part that are not sent to `dropped`.
 *
 * @param sent the field of the source that is sent
 */
export function dropOtherSources({ dropped }: Draft, part: object, sent: string, place: () => string): void {
  for (const field of sourceFields)
    if (field !== sent && (part as Record<string, unknown>)[field]) dropped.push(`${place()}.${field}`);
}

/** Returns the field of a request that names its end user. */
export const nameIdentity = ({ safety_identifier: id }: ResponseRequest): string =>
  isSet(id) ? 'safety_identifier' : 'user';

export const isSet = (value: unknown): boolean => value !== undefined && value !== null;

function saysSomething(value: unknown): boolean {
  return isSet(value) && value !== false && !(Array.isArray(value) && value.length === 0);
}
