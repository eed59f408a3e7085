import type { ContentKind } from '../domain/content-record.ts';
import { ImageDigest } from '../domain/image-digest.ts';
import type { Allowance } from './allowance.ts';
import { describeBinary } from './describe-binary.ts';
import { estimateWeight } from './weight.ts';

/** An unchanged item or part. Only the fields listed here are read. */
type Open = Readonly<Record<string, unknown>>;

/** The texts of items, by the kind whose permission they need. */
const texts: Record<string, { tool_calls?: readonly string[]; tool_results?: readonly string[] }> = {
  function_call: { tool_calls: ['name', 'namespace', 'arguments'] },
  custom_tool_call: { tool_calls: ['name', 'namespace', 'input'] },
  code_interpreter_call: { tool_calls: ['code'] },
  mcp_call: { tool_calls: ['server_label', 'name', 'arguments'], tool_results: ['output', 'error'] },
  function_call_output: { tool_results: ['output'] },
  custom_tool_call_output: { tool_results: ['output'] },
};

/**
 * Reduces an item to the kinds that the list permits. Describes the rest by its kind and its size in characters. Never
 * keeps unlisted kinds, including kinds that a provider or a client invents. Never keeps opaque reasoning.
 */
export function keepItem(item: Open, keep: ReadonlySet<ContentKind>, allowance: Allowance): Open {
  const type = wordOf(item['type']);
  switch (type) {
    case 'message':
    case 'agent_message': {
      const { role, content } = item;
      const kind = role === 'system' || role === 'developer' ? 'instructions' : 'messages';
      return {
        type,
        ...(role === undefined ? undefined : { role: wordOf(role) }),
        ...(keep.has(kind) ? { content: keepValue(content, allowance) } : omit(content)),
      };
    }
    case 'reasoning':
      return {
        type,
        ...keepOrOmit('summary', item['summary'], keep.has('reasoning_summary'), allowance),
        ...keepOrOmit('content', item['content'], keep.has('reasoning_text'), allowance),
      };
    case 'additional_tools':
      return { type, tools: keepNames(item['tools'], allowance) };
    case 'image_generation_call':
      return { type, ...keepDigest(item), ...(typeof item['result'] === 'string' && describeBinary(item['result'])) };
    default:
      return { type, ...keepTexts(texts[type], item, keep, allowance) };
  }
}

/** Lists the names of tools, or their kinds if they have no name. */
export function keepNames(tools: unknown, allowance: Allowance): unknown[] {
  return keepList(tools, allowance, (tool) => {
    const { name, type } = tool as Open;
    allowance.left -= 3; // quotes and comma
    return allowance.take(typeof name === 'string' ? name : wordOf(type));
  });
}

/** Writes entries while there is room. The last entry says how many were omitted. */
function keepList(list: unknown, allowance: Allowance, keepEntry: (entry: object) => unknown): unknown[] {
  const entries = Array.isArray(list) ? list.filter((entry) => typeof entry === 'object' && entry !== null) : [];
  const kept: unknown[] = [];
  for (const entry of entries) {
    if (allowance.isSpent) {
      allowance.markCut();
      kept.push({ type: 'cut', entries: entries.length - kept.length });
      break;
    }
    kept.push(keepEntry(entry));
  }
  return kept;
}

function keepTexts(
  listed: (typeof texts)[string] | undefined,
  item: Open,
  keep: ReadonlySet<ContentKind>,
  allowance: Allowance,
): object {
  if (!listed) return omit(item);
  const kept: Record<string, unknown> = {};
  let omitted = 0;
  if (typeof item['call_id'] === 'string') kept['call_id'] = allowance.take(item['call_id']);
  for (const kind of ['tool_calls', 'tool_results'] as const) {
    for (const field of listed[kind] ?? []) {
      const value = item[field];
      if (value === undefined || value === null) continue;
      if (keep.has(kind)) kept[field] = keepValue(value, allowance);
      else omitted += estimateWeight(value);
    }
  }
  return omitted === 0 ? kept : { ...kept, omitted_characters: omitted };
}

const omit = (value: unknown): object => ({ omitted_characters: estimateWeight(value) });

function keepOrOmit(field: string, value: unknown, isKept: boolean, allowance: Allowance): object | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return isKept ? { [field]: keepValue(value, allowance) } : { [field]: omit(value) };
}

/** Keeps a text, or a list of parts. */
function keepValue(value: unknown, allowance: Allowance): unknown {
  if (typeof value === 'string') return allowance.take(value);
  if (Array.isArray(value)) return keepList(value, allowance, (part) => keepPart(part as Open, allowance));
  return value === undefined || value === null ? null : omit(value);
}

function keepPart(part: Open, allowance: Allowance): Open {
  const type = wordOf(part['type']);
  allowance.left -= type.length + PART_BYTES;
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'summary_text':
    case 'reasoning_text':
    case 'text':
      return { type, text: allowance.take(String(part['text'] ?? '')) };
    case 'refusal':
      return { type, refusal: allowance.take(String(part['refusal'] ?? '')) };
    case 'input_image': {
      const digest = keepDigest(part);
      const isReported = digest !== undefined && part['image_url'] === undefined;
      return { type, ...digest, ...(!isReported && describeSource(part, ['image_url'])) };
    }
    case 'input_file':
      return { type, ...describeSource(part, ['file_data', 'file_url']) };
    case 'input_video':
      return { type, ...describeSource(part, ['video_url']) };
    case 'input_audio':
      return { type, ...describeSource((part['input_audio'] ?? {}) as Open, ['data']) };
    default:
      return { type, ...omit(part) };
  }
}

/** Size around the text of a part. */
const PART_BYTES = 24;

const keepDigest = ({ digest }: Open): object | undefined =>
  digest instanceof ImageDigest ? { ...digest } : undefined;

function describeSource(part: Open, fields: readonly string[]): object {
  const source = fields.map((field) => part[field]).find((value) => typeof value === 'string');
  return source === undefined ? omit(part) : describeBinary(source);
}

/** Returns a value that has the form of an identifier, or else `unknown`. */
const wordOf = (value: unknown): string =>
  typeof value === 'string' && /^[\w:.-]{1,64}$/.test(value) ? value : 'unknown';
