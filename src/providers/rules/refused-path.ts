import { splitPath } from './fit/paths.ts';

/** Sentences that refuse a field within a list or an object. The groups are its path, or its place and its name. */
const sentences: readonly RegExp[] = [
  /(?:^|[\s"'`])((?:[\w$-]{1,60}(?:\[[^\]]{1,80}\])?\.){1,12}[\w$-]{1,60})['"`]?:\s{1,4}(?:extra inputs are not permitted|extra fields not permitted|property [^ ]{1,200} is unsupported)/i, // Anthropic, Cerebras
  /(?:unknown|unsupported|unrecognized) parameter:? ['"`]([\w$]{1,60}(?:\[\d{1,6}\]|\.[\w$]{1,60}){1,12})['"`]/i, // OpenAI
  /'([\w.]{1,200})' : property '([\w$]{1,60})' is unsupported/i, // Groq
  /unknown name \\?"([\w$]{1,60})\\?" at \\?'([\w.[\]]{1,200})\\?'/i, // Google: the name comes first
];
/** vLLM writes the path as Python does. */
const tuple = /'loc': \(([^)]{1,300})\), 'msg': 'extra inputs are not permitted'/i;

/** Sentences that refuse the field whose path the error has apart: lidge-jun/opencodex#3204. */
const refusesField =
  /(?:unsupported|unknown|unrecogni[sz]ed|unexpected|extra|additional) (?:field|parameter|property|input|key|argument)/i;

/** Fields that are a part of the contents, that the format needs, or that protect the caller. */
const kept: ReadonlySet<string> = new Set([
  ...['role', 'content', 'text', 'type', 'name', 'id', 'call_id', 'tool_call_id', 'tool_use_id', 'arguments', 'input'],
  ...[
    'output',
    'data',
    'source',
    'url',
    'image_url',
    'file',
    'file_id',
    'file_data',
    'file_url',
    'function',
    'tool_calls',
  ],
  ...['input_schema', 'parameters', 'parametersJsonSchema', 'thinking', 'signature', 'encrypted_content', 'summary'],
  ...['parts', 'inlineData', 'fileData', 'functionCall', 'functionResponse', 'thoughtSignature', 'args', 'response'],
  ...['format', 'schema', 'json_schema', 'effort', 'strict'], // these have lessons of their own
]);
/** Fields with a JSON schema. A path below one is about a keyword of the schema. */
const schemaPart = /^(?:input_?schema|parameters(?:_?json_?schema)?|schema|properties|items)$/i;

/**
 * Reads the path of a field that a server does not know, with `*` for the entries of lists: `tools.*.custom.input_examples`.
 *
 * @param param the path that the error has apart
 * @returns undefined for a field at the top, and for one that must not be left out
 */
export function readRefusedPath(text: string, param = ''): string | undefined {
  const apart = refusesField.test(text) && param.length <= 300 ? readSteps(param) : undefined;
  const steps = (findSteps(text) ?? apart)?.filter((step, index) => index > 0 || !/^(?:body|request)$/.test(step));
  if (!steps || steps.length < 2 || steps.length > 14) return undefined;
  const last = steps.at(-1)!;
  if (last === '*' || kept.has(last) || steps.some((step) => schemaPart.test(step))) return undefined;
  return steps.join('.');
}

function findSteps(text: string): string[] | undefined {
  const listed = tuple.exec(text)?.[1];
  if (listed !== undefined) return listed.split(',').map((step) => toStep(step.trim().replace(/^['"]|['"]$/g, '')));
  for (const [index, pattern] of sentences.entries()) {
    const [, first, second] = pattern.exec(text) ?? [];
    if (first === undefined) continue;
    const path =
      second === undefined ? first : index === sentences.length - 1 ? `${second}.${first}` : `${first}.${second}`;
    return readSteps(path);
  }
  return undefined;
}

const readSteps = (path: string): string[] => splitPath(path.replace(/\[(\d+)\]/g, '.$1')).map(toStep);

const toStep = (step: string): string => (/^\d+$/.test(step) ? '*' : step);

/** Whether a name of a lesson is a path. */
export const isRefusedPath = (name: string): boolean => /^[^\s.]+(?:\.[^\s.]+)+$/.test(name);
