import type { RefusalLesson as Lesson } from '../../domain/errors.ts';
import { mergeSettings } from './merge-settings.ts';
import type { Settings } from './rule-sets.ts';

/** How long a lesson is kept. */
const LESSON_MS = 24 * 3_600_000;
/** The endpoints of a provider that have lessons. A caller can name any model through a wildcard. */
const MAX_ENDPOINTS = 200;

/**
 * Parameters that a request can do without. Never one that is a part of its contents, and never one that protects the
 * caller, such as `store: false`.
 */
const parameters = new Set([
  ...['temperature', 'top_p', 'top_k', 'min_p', 'top_a', 'typical_p', 'seed', 'random_seed', 'n'],
  ...['presence_penalty', 'frequency_penalty', 'repetition_penalty', 'logit_bias', 'logprobs', 'top_logprobs'],
  ...['parallel_tool_calls', 'user', 'metadata', 'service_tier', 'truncation', 'include'],
  ...['reasoning_effort', 'verbosity', 'prompt_cache_key', 'prompt_cache_retention', 'prediction'],
]);

/** Names of the limit of the output, each with the one to use instead. */
const limits: Readonly<Record<string, string>> = {
  max_tokens: 'max_completion_tokens',
  max_completion_tokens: 'max_tokens',
};

/** Keywords of schemas that say more than the shape. The description of the schema says it in words instead. */
const keywords = new Set([
  ...['$schema', '$id', '$comment', 'title', 'default', 'examples', 'format', 'pattern', 'deprecated', 'readOnly'],
  ...['minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties', 'propertyNames', 'patternProperties'],
  ...['additionalProperties', 'const', 'contentEncoding', 'writeOnly'],
]);

/** Sentences with which servers refuse a parameter. The group is its name. */
const refusals: readonly RegExp[] = [
  /unsupported (?:parameter|value)s?:? ['"`]?([\w.$]+)/i, // OpenAI
  /unrecognized request arguments? supplied: ([\w.$]+)/i, // OpenAI
  /(?:unknown|unrecognized|unexpected|invalid|extra)(?: request)? (?:parameter|argument|field|key|name)s?:? ['"`\\]*([\w.$]+)/i,
  /(?:parameter|property|field|argument|option|setting)s? ['"`\\]+([\w.$]+)['"`\\]+ (?:is|are) (?:not|un)\s?-?supported/i, // Groq
  /arguments? not supported(?: on this model)?: ['"`]?([\w.$]+)/i, // xAI
  /(?:^|[\s.:])['"`]?([\w$]+)['"`]?:? (?:extra inputs are not permitted|extra fields not permitted|field is not allowed)/i,
  /['"`]([\w.$]+)['"`] (?:is|are) (?:not supported|unsupported|deprecated|not permitted|not allowed)/i, // Anthropic
  /does not support(?: the)?(?: parameters?| argument)?:? ['"`]?([\w$]+)/i,
  /unknown name \\?"([\w.$]+)\\?"/i, // Google
];

/** Words of an error about a value, or about a part of the contents. Neither refuses a parameter. */
const notParameters = /supported values|must be one of|is not one of|schema|messages\[|input\[|content/i;
/** A value that is refused because only the default is accepted is a parameter that is refused. */
const onlyDefault = /only the default/i;

/** Characters of a message in which a refusal is looked for. Further on, servers repeat what the request says. */
const MAX_WORDS = 300;

/**
 * Reads what a provider refuses from its error.
 *
 * @param message the provider's own words
 * @param param the field that the error names apart
 * @returns undefined if the error names nothing of a closed list; such an error is about the request itself
 */
export function readLesson(message: string, param: string): Lesson | undefined {
  const text = message.slice(0, MAX_WORDS);
  const named = refusals.flatMap((pattern) => pattern.exec(text)?.[1] ?? []);
  if (param !== '' && refusesParam.test(text)) named.unshift(param);
  for (const path of named) {
    const lesson = lessonOf(path.replace(/\.$/, ''), text);
    if (lesson) return lesson;
  }
  return undefined;
}

/** Sentences that refuse the field that stands beside them. */
const refusesParam = /not supported|unsupported|unknown|unrecognized|not permitted|not allowed|deprecated/i;

function lessonOf(path: string, text: string): Lesson | undefined {
  const name = path.replace(/^body\./, '');
  if (parameters.has(name) || Object.hasOwn(limits, name)) {
    if (notParameters.test(text) && !onlyDefault.test(text)) return undefined;
    const rule = parameters.has(name) ? { send: false } : { name: limits[name] };
    return { name, field: name, settings: () => ({ fields: { [name]: rule } }) };
  }
  const last = path.split('.').at(-1)!;
  if (last === 'strict') return { name: last, settings: () => ({ tools: { strict: 'omit' } }) };
  if (!keywords.has(last)) return undefined;
  return {
    name: last,
    settings({ schemas, format }) {
      const add = (facet: unknown): string[] => [...((facet as { drop?: string[] } | undefined)?.drop ?? []), last];
      return { schemas: { drop: add(schemas) }, format: { drop: add(format) } };
    },
  };
}

/** Adds lessons to the settings of an endpoint. */
export const withLessons = (settings: Settings, lessons: readonly Lesson[]): Settings =>
  lessons.reduce((all, lesson) => mergeSettings(all, lesson.settings(all)), settings);

/** A lesson of an endpoint, for reports. */
export interface Learned {
  wire: string;
  model: string;
  name: string;
  settings: Settings;
}

/** The lessons of the endpoints of one provider. Each is kept for a day, or until the process ends. */
export class Lessons {
  private readonly known = new Map<string, Map<string, { learned: Learned; untilMs: number }>>();
  private readonly now: () => number;

  constructor(now: () => number = Date.now) {
    this.now = now;
  }

  /** Whether no endpoint has any. */
  get isEmpty(): boolean {
    return this.known.size === 0;
  }

  /** @returns whether the endpoint did not know it yet */
  add(learned: Learned): boolean {
    const key = `${learned.wire} ${learned.model}`;
    const lessons = this.known.get(key) ?? new Map<string, { learned: Learned; untilMs: number }>();
    const known = lessons.get(learned.name);
    if (known && known.untilMs > this.now()) return false;
    if (!this.known.has(key) && this.known.size >= MAX_ENDPOINTS) this.known.delete(this.known.keys().next().value!);
    this.known.set(key, lessons.set(learned.name, { learned, untilMs: this.now() + LESSON_MS }));
    return true;
  }

  /** Lists the lessons of an endpoint. */
  of(wire: string, model: string): Learned[] {
    const lessons = this.known.get(`${wire} ${model}`);
    if (!lessons) return [];
    const atMs = this.now();
    return [...lessons.values()].filter(({ untilMs }) => untilMs > atMs).map(({ learned }) => learned);
  }
}
