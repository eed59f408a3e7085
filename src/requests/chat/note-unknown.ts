import type { TSchema } from 'typebox';
import { isObject } from '../../schema/by-kind.ts';
import type { IgnoredFields } from '../ignored-fields.ts';
import { messageFields, toolCallShapes } from './schema/messages.ts';
import { partShapes } from './schema/parts.ts';
import type { ChatBody } from './schema.ts';

/** The fields of an object, and those of the object in it. */
interface Shape {
  fields: ReadonlySet<string>;
  inner: { name: string; fields: ReadonlySet<string> } | undefined;
}

const listFields = (schema: TSchema): Record<string, TSchema> | undefined =>
  (schema as { properties?: Record<string, TSchema> }).properties;

function readShape(schema: TSchema): Shape {
  const properties = listFields(schema)!; // each is an object
  const [inner] = Object.entries(properties).flatMap(([name, field]) => {
    const fields = listFields(field);
    return fields ? [{ name, fields: new Set(Object.keys(fields)) }] : [];
  });
  return { fields: new Set(Object.keys(properties)), inner };
}

const readShapes = (schemas: Record<string, TSchema>): ReadonlyMap<string, Shape> =>
  new Map(Object.entries(schemas).map(([kind, schema]) => [kind, readShape(schema)]));

const parts = readShapes(partShapes);
const calls = readShapes(toolCallShapes);

/**
 * Notes the fields of messages, of their parts and of their calls that have no place in a request. `null` is no value.
 *
 * @returns whether there are parts of kinds that the gateway does not know
 * @see docs/reference/chat-completions.md#messages
 */
export function noteUnknown(messages: ChatBody['messages'], ignored: IgnoredFields): boolean {
  let hasUnknownParts = false;
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as unknown as Record<string, unknown>;
    const known = messageFields[message['role'] as string] ?? messageFields['system']!; // the same for users and developers
    noteFields(message, known, ignored, '', index);
    const { content, tool_calls: made } = message;
    if (Array.isArray(content) && noteList(content, parts, ignored, 'content', index)) hasUnknownParts = true;
    if (Array.isArray(made)) noteList(made, calls, ignored, 'tool_calls', index);
  }
  return hasUnknownParts;
}

/** @returns whether there are entries of unknown kinds */
function noteList(
  list: readonly Record<string, unknown>[],
  shapes: ReadonlyMap<string, Shape>,
  ignored: IgnoredFields,
  name: string,
  index: number,
): boolean {
  let hasUnknown = false;
  for (let at = 0; at < list.length; at++) {
    const entry = list[at]!;
    const shape = shapes.get(String(entry['type'] ?? 'function'));
    if (!shape) {
      hasUnknown = true;
      continue;
    }
    noteFields(entry, shape.fields, ignored, name, index, at);
    const inner = shape.inner && entry[shape.inner.name];
    if (isObject(inner)) noteFields(inner, shape.inner!.fields, ignored, name, index, at, shape.inner!.name);
  }
  return hasUnknown;
}

function noteFields(
  object: Record<string, unknown>,
  known: ReadonlySet<string>,
  ignored: IgnoredFields,
  name: string,
  index: number,
  at = -1,
  inner = '',
): void {
  for (const field in object) {
    if (known.has(field) || object[field] === null || object[field] === undefined) continue;
    const entry = at < 0 ? '' : `.${name}[${at}]`;
    ignored.add(`messages[${index}]${entry}${inner && `.${inner}`}`, field);
  }
}
