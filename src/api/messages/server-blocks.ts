import type { OutputItem } from '../../domain/items.ts';
import { isNativePart, type NativePart } from '../../domain/native.ts';
import { parseObject } from '../../domain/parse-object.ts';
import { sealItem } from '../../domain/sealed-items.ts';
import { ownServer, searchItemTypes } from '../../requests/messages/write-input.ts';
import type { ContentBlock } from './wire.ts';

/**
 * Writes an item that is neither text, reasoning nor a call of the client's tools: the result of a tool that ran before
 * the response ended. The second block contains the whole item, so that a client returns it. choice 617
 */
export function writeServerBlocks(item: OutputItem): ContentBlock[] {
  if (isNativePart(item)) return [(item as unknown as NativePart).block as ContentBlock];
  const id = `srvtoolu_${String(item.id ?? item['call_id'] ?? 'item')}`;
  if (searchItemTypes.has(item.type)) return writeSearch(id, item);
  const isMcp = item.type === 'mcp_call';
  const call: ContentBlock = {
    type: 'mcp_tool_use',
    id,
    name: isMcp ? String(item['name']) : item.type,
    server_name: isMcp ? String(item['server_label']) : ownServer,
    input: readInput(item),
  };
  const isError = item.status === 'failed' || (item['error'] !== undefined && item['error'] !== null);
  const content = [{ type: 'text', text: sealItem(item) }];
  return [call, { type: 'mcp_tool_result', tool_use_id: id, is_error: isError, content }];
}

function readInput(item: OutputItem): Record<string, unknown> {
  const { arguments: text } = item as { arguments?: unknown };
  return (typeof text === 'string' ? parseObject(text) : undefined) ?? {};
}

type Source = { url?: unknown; title?: unknown };

function writeSearch(id: string, item: OutputItem): ContentBlock[] {
  const { action, results } = item as { action?: { query?: unknown; sources?: unknown }; results?: unknown };
  const query = String(action?.query ?? readInput(item)['query'] ?? '');
  const found = [action?.sources, results].find(Array.isArray) as Source[] | undefined;
  const sealed = sealItem(item);
  const content = (found ?? []).map(({ url, title }, index) => ({
    type: 'web_search_result',
    url: String(url ?? ''),
    title: String(title ?? ''),
    encrypted_content: index === 0 ? sealed : '',
    page_age: null,
  }));
  return [
    { type: 'server_tool_use', id, name: 'web_search', input: { query } },
    { type: 'web_search_tool_result', tool_use_id: id, content },
  ];
}
