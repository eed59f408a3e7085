import type { Rules } from '../facets.ts';
import type { FitNotes } from './notes.ts';
import { canBeStrict } from './schemas.ts';

type Body = Record<string, unknown>;

/** A JSON format in the shape of chat completions. */
export interface JsonFormat {
  type: string;
  json_schema?: { name?: string; schema?: Record<string, unknown>; strict?: boolean; description?: string };
}

/** Where the body of a wire has its format and its instructions. */
export interface FormatPlace {
  read(body: Body): JsonFormat | undefined;
  write(body: Body, format: JsonFormat | undefined): void;
  /** Adds a text to the instructions. */
  tell(body: Body, text: string): void;
  /** Whether a message contains the word. */
  mentions(body: Body, word: RegExp): boolean;
  hasTools(body: Body): boolean;
  /** Whether the model reasons. Absent: the wire has no rule about it. */
  thinks?(body: Body): boolean;
}

const anyObject = { name: 'answer', schema: { type: 'object', additionalProperties: true } };

/**
 * Replaces a format that the server does not have: a schema by JSON mode and a description, JSON mode by a schema for
 * any object. A format without a substitute becomes words in the instructions.
 */
export function fitFormat(notes: FitNotes, body: Body, rules: NonNullable<Rules['format']>, place: FormatPlace): void {
  const format = place.read(body);
  if (!format || format.type === 'text') return;
  const schema = format.json_schema?.schema;
  const thinks = rules.while_thinking === false && place.thinks?.(body) === true;
  if (thinks || mustDescribe(rules, format, { hasTools: place.hasTools(body), isStreamed: body.stream === true })) {
    place.write(body, undefined);
    place.tell(body, schema ? `${asJson} ${matching(schema)}` : asJson);
    notes.dropped.push('text.format (requested in the prompt)');
  } else if (format.type === 'json_schema') {
    if (rules.json_schema === 'object') {
      place.write(body, { type: 'json_object' });
      if (schema) place.tell(body, `${asJson} ${matching(schema)}`);
      notes.dropped.push('text.format (the schema is in the prompt)');
    }
  } else if (format.type === 'json_object') {
    if (rules.json_object === 'schema') {
      place.write(body, { type: 'json_schema', json_schema: anyObject });
      notes.adapted.add('text.format');
      return;
    }
  }
  if (rules.json_word && place.read(body)?.type === 'json_object' && !place.mentions(body, /json/i)) {
    place.tell(body, asJson);
    notes.adapted.add('the word JSON');
  }
}

/** Whether the server has nothing that could replace the format. */
const mustDescribe = (
  rules: NonNullable<Rules['format']>,
  { type }: JsonFormat,
  { hasTools, isStreamed }: { hasTools: boolean; isStreamed: boolean },
): boolean =>
  (rules.with_tools === false && hasTools) ||
  (rules.schema_streamed === false && isStreamed && type === 'json_schema') ||
  rules[type === 'json_schema' ? 'json_schema' : 'json_object'] === 'describe';

const asJson = 'Respond with one JSON object and nothing else.';
const matching = (schema: Record<string, unknown>): string =>
  `It must match this JSON schema: ${JSON.stringify(schema)}`;

/** Sends a format as not strict, if the server takes no strict schema like it. */
export function fitStrictFormat(notes: FitNotes, body: Body, place: FormatPlace): void {
  const format = place.read(body);
  const described = format?.json_schema;
  if (!described?.strict || canBeStrict(described.schema)) return;
  place.write(body, { ...format!, json_schema: { ...described, strict: false } });
  notes.dropped.push('text.format.strict (the schema has optional properties or open objects)');
}
