import type { RefusalLesson as Lesson } from '../../domain/errors.ts';
import { demands } from './demands.ts';
import { mergeSettings } from './merge-settings.ts';
import { fieldsOf, findParameter, listBodyFields, listDistinctive, parameters } from './parameter-names.ts';
import { isRefusedPath, readRefusedPath } from './refused-path.ts';
import type { Settings } from './rule-sets.ts';
import { readRange, readValues, valueLesson } from './value-lessons.ts';

/** How long a lesson is kept. */
const LESSON_MS = 24 * 3_600_000;
/** The endpoints of a provider that have lessons. A caller can name any model through a wildcard. */
const MAX_ENDPOINTS = 200;

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
  /(?:unknown|unrecognized|unexpected|invalid|extra)(?: request| keyword)? (?:parameter|argument|field|key|name)s?:? ['"`\\]*([\w.$]+)/i,
  /(?:parameter|property|field|argument|option|setting)s? ['"`\\]*([\w.$]+)['"`\\]* (?:is|are) (?:not|un)\s?-?(?:supported|allowed|permitted|accepted|available)/i, // Groq
  /arguments? not supported(?: on this model)?: ['"`]?([\w.$]+)/i, // xAI
  /'loc': \('body', '([\w$]+)'\), 'msg': 'extra inputs are not permitted'/i, // vLLM
  /(?:^|[\s.:/])['"`]?([\w$]+)['"`]?:?\s{1,4}(?:extra inputs are not permitted|extra fields not permitted|field is not allowed)/i,
  /(?:extra inputs are not permitted|unrecognized field|unsupported field),? (?:field: )?['"`]([\w.$]+)['"`]/i, // Fireworks
  /['"`]([\w.$]+)['"`] (?:is|are) (?:not supported|unsupported|deprecated|not permitted|not allowed|unknown)/i, // Anthropic
  /(?:^|[\s:])([\w.$]+)(?: parameters?| fields?| arguments?| options?)? (?:is|are) (?:not (?:yet |currently )?supported|unsupported|deprecated|not permitted|not allowed)/i,
  /(?:does|do) not (?:support|accept|allow|recognize)(?: the| setting| using)?(?: parameters?| arguments?| fields?)?:? [[{]?['"`]?([\w.$]+)/i, // LiteLLM lists them
  /unknown name \\?"([\w.$]+)\\?"/i, // Google
];
/** Words with which a sentence refuses the parameters that it names anywhere. */
const refuses =
  /not (?:yet |currently )?(?:supported|permitted|allowed|accepted|recogni[sz]ed|implemented|available|enabled|compatible)|unsupported|unknown|unrecogni[sz]ed|unexpected|extra (?:inputs|fields)|deprecated|(?:does|do)(?: not|n't) (?:support|accept|allow|recogni[sz]e|take)|cannot (?:specify|be (?:used|set|specified|combined))|incompatible/i;
/** Words of an error about the value of a parameter. */
const refusesValue =
  /invalid|must (?:be|not)|should be|expected|out of range|too (?:large|long|small|high|low|many)|exceeds|not a valid/i;

/** Words of an error about a value, or about a part of the contents. Neither refuses a parameter. */
const notParameters =
  /supported values|must be one of|is not one of|schema|messages\W{0,2}\d|messages\[|input\[|content(?!_filter)/i;
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
  const start = Math.max(0, message.indexOf('Jinja Exception:')); // llama.cpp quotes its template before it
  const text = message.slice(start, start + MAX_WORDS);
  const whole = readApart(text, param);
  if (whole) return whole;
  const path = readRefusedPath(text, param);
  if (path) return lessonAbout(path);
  const named = refusals.flatMap((pattern) => pattern.exec(text)?.[1] ?? []);
  const isRefused = refuses.test(text);
  if (param !== '' && isRefused) named.unshift(param);
  if (isRefused) named.push(...listDistinctive(text));
  for (const path of named) {
    const lesson = lessonOf(path.replace(/\.$/, ''), text);
    if (lesson) return lesson;
  }
  return readValueLesson(text, param);
}

/** A value that the server does not take is left out once: other requests may have a good one. */
function readValueLesson(text: string, param: string): Lesson | undefined {
  if (!refusesValue.test(text) || notContents.test(text)) return undefined;
  const quoted = /['"`]([\w.]+)['"`]/.exec(text)?.[1];
  for (const name of [param, quoted ?? '', ...listDistinctive(text)]) {
    const found = findParameter(name.replace(/^body\./, ''));
    const lesson = found && lessonAbout(found);
    if (lesson) return { ...lesson, isOnce: true };
  }
  return undefined;
}

/** Words of an error about a part of the contents. */
const notContents = /schema|messages\W{0,2}\d|messages\[|input\[|content(?!_filter)|tools\W{0,2}\d/i;

/** Sentences about the header `anthropic-beta`: of Bedrock, and of Vertex, which names the features. */
const refusedBetas = /invalid beta flag|unexpected value\(s\) (.+?) for the [`'"]?anthropic-beta/i;
const refusedOutput = /output_config(\.effort|\.format)?['"`]?:? extra inputs are not permitted/i;
const refusedMarks = /cache_control(?:\.ephemeral)?\.(ttl|scope)['"`]?:? extra inputs are not permitted/i;
/** Sentences of Ollama and others. */
const noThinking = /(?:["'`]\S{1,100}["'`]|model) does not support (?:thinking|reasoning)\b/i;

/** Sentences about too many stop texts. Sources: BerriAI/litellm#18921, letta-ai/letta#1272 */
const stopLimits: readonly RegExp[] = [
  /'?stop'?: array too long\. expected an array with maximum length (\d{1,3})/i,
  /number of stop_sequences must not exceed (\d{1,3})/i,
  /len\(stop\) > (\d{1,3}) is not supported/i,
];

/** A value of `include` that models without reasoning refuse: OpenHands/software-agent-sdk#1208 */
const noEncrypted = /encrypted content is not supported with this model/i;

/** llama.cpp, whose grammars have neither all expressions nor high counts. */
const noGrammar = /failed to (?:parse|initialize|build) (?:the )?grammar/i;

/**
 * Sentences about a limit of the output that is above that of the model.
 *
 * Sources: anthropics/claude-code#24451 (Anthropic), vercel/ai#2772 (Bedrock), deepseek-ai/DeepSeek-V3#69,
 * open-webui/open-webui#10507 (Qwen), Gitlawb/openclaude#331 (Volcengine), anomalyco/opencode#1000 and skapadia3214/groq-moa#8 (Groq)
 */
const outputLimits: readonly RegExp[] = [
  /max_tokens: \d{1,9} > (?<max>\d{1,9}), which is the maximum allowed number of output/i,
  /max_(?:completion_)?tokens is too large: \d{1,9}\. this model supports at most (?<max>\d{1,9}) completion tokens/i, // OpenAI
  /maximum tokens you requested exceeds? the model limit of (?<max>\d{1,9})/i,
  /range of max_(?:completion_)?tokens (?:is|should be) \[\d{1,9}, ?(?<max>\d{1,9})\]/i,
  /max_(?:completion_)?tokens[`'"]?(?: for [`'"]\S{1,100}[`'"])? must be less than or equal to [`'"]?(?<max>\d{1,9})/i,
  /max_(?:completion_|output_)?tokens\b[^<]{0,60}integer above maximum value[.,] expected a value <= (?<max>\d{1,9})/i, // OpenAI, Volcengine
  /maxOutputTokens value of \d{1,9} but the supported range is from \d{1,9} \(inclusive\) to (?<above>\d{1,9}) \(exclusive\)/i, // Vertex
];

/**
 * Sentences about an input that fits, but not with the limit of the output that the request has.
 *
 * Sources: docker/docker-agent#569 (Anthropic), evalstate/fast-agent#621 (DeepSeek, older vLLM), stepfun-ai/Step-Audio-R1#3
 * (vLLM), huggingface/huggingface_hub#2763 (TGI)
 */
const rooms: readonly RegExp[] = [
  /input length and [`'"]?max_tokens[`'"]? exceed context limit: (?<input>\d{1,9}) \+ \d{1,9} > (?<max>\d{1,9})/i,
  /context length is (?<max>\d{1,9}) tokens\. however, you requested \d{1,9} tokens \((?<input>\d{1,9}) in the messages, \d{1,9} in the completion\)/i,
  /context length is (?<max>\d{1,9}) tokens and your request has (?<input>\d{1,9}) input tokens/i,
  /[`'"]?max_new_tokens[`'"]? must be <= (?<max>\d{1,9})\. given: (?<input>\d{1,9}) [`'"]?inputs/i,
];
/** vLLM counts the input only up to the room that the output leaves, so its number is a lower bound: vllm-project/vllm#42474. */
const unknownRoom = /you requested \d{1,9} output tokens and your prompt contains at least \d{1,9} input tokens/i;
/** Tokens. Less is no response. */
const MIN_ROOM = 16;

/**
 * Reads the room for output from an error about the context. A client that wants more means as much as there is.
 *
 * @returns undefined if the input itself does not fit
 */
export function readRoomLesson(message: string): Lesson | undefined {
  const text = message.slice(0, MAX_WORDS);
  const name = 'limit of the output';
  if (unknownRoom.test(text)) {
    // Without the limit, vLLM uses the room.
    const fields = { max_tokens: left, max_completion_tokens: left };
    return { name, isOnce: true, wire: 'openai-chat', settings: () => ({ fields }) };
  }
  for (const pattern of rooms) {
    const { input, max } = pattern.exec(text)?.groups ?? {};
    const room = Number(max) - Number(input);
    if (room >= MIN_ROOM) return { name, isOnce: true, settings: () => ({ output: { max: room } }) };
  }
  return undefined;
}

/**
 * Reads an error about something other than one field.
 *
 * Sources: anthropics/claude-code#49370, adesso-ai/homebrew-streb#5 (header), anthropics/claude-code#12122 (marks),
 * anthropics/claude-code#55211 (thinking), OpenHands/software-agent-sdk#1630 (effort), ggml-org/llama.cpp#25895 (grammar)
 */
function readApart(text: string, param: string): Lesson | undefined {
  const betas = refusedBetas.exec(text);
  if (betas) {
    const features = betas[1]?.match(/[\w.-]+/g);
    return lessonAbout(features ? `anthropic-beta (${features.join(', ')})` : 'anthropic-beta');
  }
  const mark = refusedMarks.exec(text)?.[1];
  if (mark) return lessonAbout(`cache_control.${mark.toLowerCase()}`);
  const output = refusedOutput.exec(text);
  if (output) return lessonAbout(`output_config${output[1]?.toLowerCase() ?? ''}`);
  if (noThinking.test(text)) return lessonAbout('thinking');
  if (noEncrypted.test(text)) return lessonAbout('include (reasoning.encrypted_content)');
  const values = readValues(text, param);
  if (values) return lessonAbout(values);
  const demand = demands.find(({ words }) => words.test(text));
  if (demand) return lessonAbout(demand.name);
  for (const pattern of outputLimits) {
    const { max, above } = pattern.exec(text)?.groups ?? {};
    if (max !== undefined || above !== undefined) return lessonAbout(`output above ${max ?? Number(above) - 1}`);
  }
  if (noGrammar.test(text)) return lessonAbout('bounds of schemas');
  const listed = /schema/i.test(text) && refuses.test(text) ? listKeywords(text) : [];
  if (listed.length > 0) return lessonAbout(listed.join(', '));
  for (const pattern of stopLimits) {
    const max = pattern.exec(text)?.[1];
    if (max !== undefined) return lessonAbout(`stop texts above ${max}`);
  }
  const range = readRange(text, param);
  return range === undefined ? undefined : lessonAbout(range);
}

const left = { send: false } as const;
const reasoningFields = ['reasoning_effort', 'reasoning', 'thinking', 'enable_thinking', 'output_config.effort'];
const bounds = [
  ...['pattern', 'format', 'minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems', 'minimum', 'maximum'],
  ...['exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minProperties', 'maxProperties'],
];

/** Lessons about something other than one field. */
const apart: ReadonlyMap<string, Lesson['settings']> = new Map<string, Lesson['settings']>([
  ['cache_control.ttl', () => ({ cache: { ttl: false } })],
  ['cache_control.scope', () => ({ cache: { scope: false } })],
  ['output_config.effort', () => ({ fields: { 'output_config.effort': left } })],
  ['output_config.format', () => ({ format: { json_schema: 'describe' } })],
  ['stop', () => ({ stops: { max: 0 } })], // the gateway applies the texts
  ['labels', () => ({ omit_paths: ['labels'] })],
  ['speed', () => ({ omit_paths: ['speed'] })],
  ['output_config', () => ({ fields: { 'output_config.effort': left }, format: { json_schema: 'describe' } })],
  ['thinking', () => ({ fields: Object.fromEntries(reasoningFields.map((field) => [field, left])) })],
  ['bounds of schemas', (settings) => dropKeywords(settings, bounds)],
]);

function dropKeywords({ schemas, format }: Settings, keywords: readonly string[]): Settings {
  const add = (facet: unknown) => [...((facet as { drop?: string[] } | undefined)?.drop ?? []), ...keywords];
  return { schemas: { drop: add(schemas) }, format: { drop: add(format) } };
}

/** Lists the keywords that an error about a schema quotes: `Unsupported JSON schema fields: {'minItems', 'maxItems'}`. */
const listKeywords = (text: string): string[] => [
  ...new Set([...text.matchAll(/['"`]([$\w]+)['"`]/g)].flatMap(([, name]) => (keywords.has(name!) ? [name!] : []))),
];

function lessonOf(path: string, text: string): Lesson | undefined {
  const name = path.replace(/^body\./, '');
  const found = findParameter(name);
  if (found !== undefined || Object.hasOwn(limits, name) || name === 'stream_options') {
    return notParameters.test(text) && !onlyDefault.test(text) ? undefined : lessonAbout(found ?? name);
  }
  if (name === 'stop_sequences') return lessonAbout('stop');
  if (name === 'stop' || name === 'labels' || name === 'speed') return lessonAbout(name);
  const last = path.split('.').at(-1)!;
  return last === 'strict' || keywords.has(last) ? lessonAbout(last) : undefined;
}

/** Returns how to avoid what a server refuses; undefined for a name that no lesson has. */
export function lessonAbout(name: string): Lesson | undefined {
  if (parameters.has(name)) {
    const fields = fieldsOf(name, left);
    return { name, fields: listBodyFields(name), settings: () => ({ fields }) };
  }
  if (Object.hasOwn(limits, name)) {
    return { name, fields: [name], settings: () => ({ fields: { [name]: { name: limits[name] } } }) };
  }
  if (name === 'stream_options') {
    return { name, fields: [name], wire: 'openai-chat', settings: () => ({ stream_usage: false }) };
  }
  const value = valueLesson(name);
  if (value) return value;
  if (name === 'strict') return { name, settings: () => ({ tools: { strict: 'omit' } }) };
  const listed = name.split(', ');
  if (listed.every((each) => keywords.has(each))) {
    return { name, settings: (settings) => dropKeywords(settings, listed) };
  }
  const demand = demands.find((each) => each.name === name);
  if (demand) {
    const { wire, isOnce, settings } = demand;
    return { name, ...(wire && { wire }), ...(isOnce && { isOnce }), settings: () => settings };
  }
  const limit = /^output above (\d+)$/.exec(name)?.[1];
  if (limit) return { name, settings: () => ({ output: { max: Number(limit) } }) };
  const include = /^include \((.+)\)$/.exec(name)?.[1];
  if (include) return { name, settings: () => ({ fields: { include: { without: [include] } } }) };
  const stops = /^stop texts above (\d+)$/.exec(name)?.[1];
  if (stops) return { name, settings: () => ({ stops: { max: Number(stops) } }) };
  const features = /^anthropic-beta(?: \((.+)\))?$/.exec(name);
  if (!features) {
    const settings = apart.get(name) ?? (isRefusedPath(name) ? () => ({ omit_paths: [name] }) : undefined);
    return settings && { name, settings };
  }
  const refused = features[1]?.split(', ') ?? ['*'];
  return {
    name,
    settings({ client_betas: facet }) {
      const { without = [] } = (facet ?? {}) as { without?: string[] };
      return { client_betas: { without: [...without, ...refused] } };
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
