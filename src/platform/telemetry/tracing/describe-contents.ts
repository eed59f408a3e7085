import type { ContentParts } from '../../../domain/content-record.ts';
import type { LedgerEntry } from '../../../domain/ledger-entry.ts';
import { parseJson } from '../../../domain/parse-json.ts';
import type { Attributes } from './describe-spans.ts';

type Json = Readonly<Record<string, unknown>>;
interface Message {
  role: string;
  parts: Json[];
}

/**
 * Writes the contents of a request as attributes of the GenAI conventions. Each is JSON, because exporters have no structured
 * attributes yet.
 *
 * @param content as it is kept: redacted and truncated
 * @see https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
 */
export function describeContents(
  { input, output, error }: ContentParts,
  { outcome }: Pick<LedgerEntry, 'outcome'>,
): Attributes {
  const { instructions, items } = parseJson(input) as { instructions?: unknown; items: Json[] }; // of this process
  const messages = items.map(writeMessage);
  const parts = (parseJson(output) as Json[]).flatMap((item) => writeMessage(item).parts);
  const isCalling = parts.at(-1)?.['type'] === 'tool_call';
  const finished = outcome === 'incomplete' ? 'length' : isCalling ? 'tool_call' : 'stop';
  const answer = { role: 'assistant', parts, finish_reason: error === null ? finished : 'error' };
  return {
    'gen_ai.input.messages': JSON.stringify(messages),
    'gen_ai.output.messages': JSON.stringify(parts.length === 0 ? [] : [answer]),
    ...(instructions !== undefined && { 'gen_ai.system_instructions': JSON.stringify(writeParts(instructions)) }),
  };
}

/** Writes an item as a message. A part of a kind that the conventions do not have stays as it is. */
function writeMessage(item: Json): Message {
  const { type, role, call_id: id, name } = item;
  switch (type) {
    case 'message':
    case 'agent_message':
      return {
        role: role === 'developer' ? 'system' : String(role ?? 'user'),
        parts: writeParts(item['content'] ?? item),
      };
    case 'reasoning':
      return {
        role: 'assistant',
        parts: [item['summary'], item['content']].flatMap(writeParts).map((part) => ({ ...part, type: 'reasoning' })),
      };
    case 'function_call':
    case 'custom_tool_call':
      return {
        role: 'assistant',
        parts: [{ type: 'tool_call', id, name, arguments: item['arguments'] ?? item['input'] ?? writeOmitted(item) }],
      };
    case 'mcp_call': {
      const call = { type: 'tool_call', name, arguments: item['arguments'] ?? writeOmitted(item) };
      const response = item['output'] ?? item['error'];
      const answered = response === undefined ? [] : [{ type: 'tool_call_response', response }];
      return { role: 'assistant', parts: [call, ...answered] };
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return {
        role: 'tool',
        parts: [{ type: 'tool_call_response', id, response: item['output'] ?? writeOmitted(item) }],
      };
    default:
      return { role: 'assistant', parts: [item] };
  }
}

function writeParts(content: unknown): Json[] {
  if (typeof content === 'string') return [{ type: 'text', content }];
  if (Array.isArray(content)) return (content as Json[]).map(writePart);
  if (typeof content !== 'object' || content === null) return [];
  return [{ type: 'omitted', characters: (content as Json)['omitted_characters'] }];
}

function writePart(part: Json): Json {
  const text = part['text'] ?? part['refusal'];
  return typeof text === 'string' ? { type: 'text', content: text } : part;
}

/** The size of a text that is not kept. */
const writeOmitted = ({ omitted_characters }: Json): Json => ({ omitted_characters });
