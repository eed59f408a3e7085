import type { InputItem, MessageItem, ToolOutputPart } from '../../domain/items.ts';

/** Maximum characters of one field of an item that becomes text. */
const MAX_FIELD = 20_000;

/** Items that mean nothing to another model. */
const omitted: ReadonlySet<string> = new Set([
  'reasoning',
  'item_reference',
  'additional_tools',
  'configuration_update',
  'mcp_list_tools',
  'compaction',
  'context_compaction',
  'compaction_trigger',
]);

/** Fields of items that mean nothing to another model. */
const omittedFields: ReadonlySet<string> = new Set(['id', 'type', 'status', 'call_id', 'encrypted_content']);

/**
 * Writes a conversation so that another model without its tools can read it: messages stay as they are, and calls of
 * tools and their results become text. Providers reject calls of tools that the request does not have.
 */
export function writeTranscript(items: readonly InputItem[], instructions: string | null | undefined): InputItem[] {
  const names = new Map<unknown, string>();
  const written = items.flatMap((item): InputItem[] => {
    if (item.type === 'message' || item.type === 'agent_message') return [item];
    if (omitted.has(item.type)) return [];
    const { type, call_id: callId, name = type, arguments: given, input } = item as unknown as Fields;
    if (type === 'function_call' || type === 'custom_tool_call') {
      names.set(callId, String(name));
      return [say('assistant', `[Called ${String(name)} with ${String(given ?? input)}]`)];
    }
    if (type === 'function_call_output' || type === 'custom_tool_call_output') {
      return [writeOutput(names.get(callId) ?? 'the tool', (item as Fields & Output).output)];
    }
    return [say(type.endsWith('_output') ? 'user' : 'assistant', `[${type} ${writeFields(item)}]`)];
  });
  return instructions ? [say('system', instructions), ...written] : written;
}

type Fields = Record<string, unknown> & { type: string };

interface Output {
  output: string | readonly ToolOutputPart[];
}

const say = (role: MessageItem['role'], content: MessageItem['content']): MessageItem => ({
  type: 'message',
  role,
  ...(content !== undefined && { content }),
});

/** The result of a tool may have images. */
function writeOutput(name: string, output: Output['output']): MessageItem {
  const head = `[Result of ${name}]`;
  if (typeof output === 'string') return say('user', `${head}\n${output}`);
  return say('user', [{ type: 'input_text', text: head }, ...output]);
}

function writeFields(item: object): string {
  const fields = Object.entries(item).filter(([field]) => !omittedFields.has(field));
  return JSON.stringify(Object.fromEntries(fields), (_, value: unknown) => {
    if (typeof value !== 'string' || value.length <= MAX_FIELD) return value;
    return `${value.slice(0, MAX_FIELD)}… (${value.length} characters)`;
  });
}
