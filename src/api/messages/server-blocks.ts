import type { OutputItem } from '../../domain/items.ts';
import { isNativePart, type NativePart } from '../../domain/native.ts';
import { parseObject } from '../../domain/parse-object.ts';
import { sealItem } from '../../domain/sealed-items.ts';
import { type KnownTool, ownServer, SEALED_INPUT, serverNames } from '../../requests/messages/server-names.ts';
import type { ContentBlock } from './wire.ts';

type Fields = Record<string, unknown>;

/**
 * Writes an item that is neither text, reasoning nor a call of the client's tools: the result of a tool that ran before
 * the response ended. One of the blocks contains the whole item, so that a client returns it. choice 617
 */
export function writeServerBlocks(item: OutputItem): ContentBlock[] {
  if (isNativePart(item)) return [(item as unknown as NativePart).block as ContentBlock];
  const id = `srvtoolu_${String(item.id ?? item['call_id'] ?? 'item')}`;
  const name = serverNames.get(item.type);
  if (name === 'web_search') return writeSearch(id, item);
  if (name !== undefined) return writeKnown(id, name, item);
  const isMcp = item.type === 'mcp_call';
  const call: ContentBlock = {
    type: 'mcp_tool_use',
    id,
    name: isMcp ? String(item['name']) : item.type,
    server_name: isMcp ? String(item['server_label']) : ownServer,
    input: readInput(item),
  };
  const content = [{ type: 'text', text: sealItem(item) }];
  return [call, { type: 'mcp_tool_result', tool_use_id: id, is_error: hasFailed(item), content }];
}

const hasFailed = ({ status, error }: OutputItem): boolean =>
  status === 'failed' || (error !== undefined && error !== null);

function readInput(item: OutputItem): Fields {
  const { arguments: text } = item as { arguments?: unknown };
  return (typeof text === 'string' ? parseObject(text) : undefined) ?? {};
}

/** The public schema requires it: no code of the provider has made the call. */
const caller = { type: 'direct' };

type Source = { url?: unknown; title?: unknown };

function writeSearch(id: string, item: OutputItem): ContentBlock[] {
  const { action, results } = item as { action?: { query?: unknown; sources?: unknown }; results?: unknown };
  const query = String(action?.query ?? readInput(item)['query'] ?? '');
  const found = [action?.sources, results].find(Array.isArray) as Source[] | undefined;
  const sealed = sealItem(item);
  const content = (found ?? []).map(({ url, title }, index) => ({
    type: 'web_search_result',
    url: String(url ?? ''),
    title: String(title || url || ''), // clients show it
    encrypted_content: index === 0 ? sealed : '',
    page_age: null,
  }));
  return [
    { type: 'server_tool_use', id, name: 'web_search', input: { query }, caller },
    { type: 'web_search_tool_result', tool_use_id: id, content, caller },
  ];
}

/** Writes a call of a tool that the format knows. Its result is for people: the input has the whole item. */
function writeKnown(id: string, name: KnownTool, item: OutputItem): ContentBlock[] {
  const { result, show, fail } = known[name];
  const input = { ...readInput(item), ...inputOf(item), [SEALED_INPUT]: sealItem(item) };
  const content = hasFailed(item) ? { type: `${result}_error`, ...fail } : show(item);
  return [
    { type: 'server_tool_use', id, name, input, caller },
    { type: result, tool_use_id: id, content, ...(name === 'web_fetch' && { caller }) },
  ];
}

/** The fields of items that are arguments of their calls. */
const argumentNames = ['url', 'code', 'language', 'command', 'filePath', 'action'];

const inputOf = (item: OutputItem): Fields =>
  Object.fromEntries(argumentNames.flatMap((name) => (item[name] == null ? [] : [[name, item[name]]])));

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

interface Output {
  stdout?: unknown;
  stderr?: unknown;
  exitCode?: unknown;
  outcome?: { exit_code?: unknown };
}

/** Joins the outputs of commands. The return code is that of the last one. */
function showOutputs(type: string, outputs: readonly Output[]): Fields {
  const last = outputs.at(-1);
  const code = last?.exitCode ?? last?.outcome?.exit_code ?? 0;
  return {
    type,
    stdout: outputs.map(({ stdout }) => textOf(stdout)).join(''),
    stderr: outputs.map(({ stderr }) => textOf(stderr)).join(''),
    return_code: typeof code === 'number' ? code : 1,
    content: [],
  };
}

/** Reads the outputs of a shell, or the item itself, which has those of one command. */
const outputsOf = (item: OutputItem): Output[] => {
  const { output } = item;
  return Array.isArray(output) ? (output as Output[]) : [item as Output];
};

/** Reads the output of a program. The hosted tool has logs. */
function programOutputs(item: OutputItem): Output[] {
  const { outputs } = item;
  if (!Array.isArray(outputs)) return [item as Output];
  return (outputs as { logs?: unknown }[]).map(({ logs }) => ({ stdout: logs }));
}

function showPage({ url, title, content }: OutputItem): Fields {
  const source = { type: 'text', media_type: 'text/plain', data: textOf(content) };
  const document = { type: 'document', source, title: textOf(title), citations: null };
  return { type: 'web_fetch_result', url: textOf(url), content: document, retrieved_at: null };
}

function showEdit({ command, result }: OutputItem): Fields {
  const type = 'text_editor_code_execution';
  if (command === 'view') {
    const lines = { num_lines: null, start_line: null, total_lines: null };
    return { type: `${type}_view_result`, file_type: 'text', content: textOf(result), ...lines };
  }
  if (command === 'create') return { type: `${type}_create_result`, is_file_update: false };
  const lines = { lines: null, new_lines: null, new_start: null, old_lines: null, old_start: null };
  return { type: `${type}_str_replace_result`, ...lines };
}

interface KnownResult {
  /** The type of the second block. That of its error ends with `_error`. */
  result: string;
  show: (item: OutputItem) => Fields;
  /** The fields of its error. */
  fail: Fields;
}

const unavailable = { error_code: 'unavailable' };

/** The tools of the format besides the search. Source: ServerToolUseBlock of the official clients */
const known: Readonly<Record<KnownTool, KnownResult>> = {
  advisor: {
    result: 'advisor_tool_result',
    show: ({ advice }) => ({ type: 'advisor_result', text: textOf(advice), stop_reason: null }),
    fail: unavailable,
  },
  web_fetch: { result: 'web_fetch_tool_result', show: showPage, fail: { error_code: 'url_not_accessible' } },
  code_execution: {
    result: 'code_execution_tool_result',
    show: (item) => showOutputs('code_execution_result', programOutputs(item)),
    fail: unavailable,
  },
  bash_code_execution: {
    result: 'bash_code_execution_tool_result',
    show: (item) => showOutputs('bash_code_execution_result', outputsOf(item)),
    fail: unavailable,
  },
  text_editor_code_execution: {
    result: 'text_editor_code_execution_tool_result',
    show: showEdit,
    fail: { ...unavailable, error_message: null },
  },
};
