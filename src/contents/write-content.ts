import type { ContentParts, ContentKind } from '../domain/content-record.ts';
import type { GatewayError } from '../domain/errors.ts';
import { Allowance, type SecretMask } from './allowance.ts';
import { keepItem, keepNames } from './keep-items.ts';

/** The input and output of a run. */
export interface RunContent {
  instructions: string | null | undefined;
  items: readonly object[];
  tools: readonly object[] | undefined;
  output: readonly object[];
  error: GatewayError | undefined;
}

export interface ContentRules {
  /** Bytes of a whole content, at least 4096. */
  maxBytes: number;
  keep: ReadonlySet<ContentKind>;
  mask: SecretMask;
}

/** Reserved for truncation marks, brackets and field names. */
const RESERVE_BYTES = 1024;
const MAX_ERROR_BYTES = 4096;

/**
 * Writes a content within its bound, with permitted parts only. Input and output share the room: each may use what the
 * other leaves. If the input is too long, keeps the newest items, because earlier generations have the older ones. If
 * the output is too long, keeps the first items.
 */
export function writeContent(content: RunContent, rules: ContentRules): ContentParts {
  const room = Math.max(0, rules.maxBytes - RESERVE_BYTES);
  const error = writeError(content.error, rules, Math.min(MAX_ERROR_BYTES, room / 4));
  const rest = room - error.bytes;
  const half = writeOutput(content.output, rules, rest / 2);
  const input = writeInput(content, rules, rest - half.bytes);
  const output = half.isCut ? writeOutput(content.output, rules, rest - input.bytes) : half;
  return {
    input: input.json,
    output: output.json,
    error: content.error ? error.json : null,
    isCut: error.isCut || input.isCut || output.isCut,
  };
}

/** JSON, its size, and whether a part was too long for it. */
interface Written {
  json: string;
  bytes: number;
  isCut: boolean;
}

function writeError(error: GatewayError | undefined, { keep, mask }: ContentRules, bytes: number): Written {
  if (!error) return { json: '', bytes: 0, isCut: false };
  const allowance = new Allowance(bytes, mask);
  const { status: code, errorType } = error;
  const message = keep.has('errors') ? { message: allowance.take(error.message) } : undefined;
  return measured(JSON.stringify({ code, error_type: errorType.slice(0, 64), ...message }), allowance);
}

function writeInput({ instructions, items, tools }: RunContent, rules: ContentRules, bytes: number): Written {
  const allowance = new Allowance(bytes, rules.mask);
  const list = writeItems(items.toReversed(), rules.keep, allowance).reverse();
  const fields = [`"items":[${list.join(',')}]`];
  if (instructions) {
    const isKept = rules.keep.has('instructions');
    const kept = isKept ? allowance.take(instructions) : { omitted_characters: instructions.length };
    fields.unshift(`"instructions":${JSON.stringify(kept)}`);
  }
  if (tools && tools.length > 0) fields.push(`"tools":${JSON.stringify(keepNames(tools, allowance))}`);
  return measured(`{${fields.join(',')}}`, allowance);
}

function writeOutput(items: readonly object[], { keep, mask }: ContentRules, bytes: number): Written {
  const allowance = new Allowance(bytes, mask);
  return measured(`[${writeItems(items, keep, allowance).join(',')}]`, allowance);
}

/** Writes each item as JSON while there is room. The last entry says how many were omitted. */
function writeItems(items: readonly object[], keep: ReadonlySet<ContentKind>, allowance: Allowance): string[] {
  const written: string[] = [];
  for (const item of items) {
    if (allowance.isSpent) {
      allowance.markCut();
      written.push(JSON.stringify({ type: 'cut', entries: items.length - written.length }));
      break;
    }
    const before = allowance.left;
    const json = JSON.stringify(keepItem(item as Record<string, unknown>, keep, allowance));
    allowance.left = before - Buffer.byteLength(json) - 1; // the exact size is known now
    written.push(json);
  }
  return written;
}

const measured = (json: string, { isCut }: Allowance): Written => ({ json, bytes: Buffer.byteLength(json), isCut });
