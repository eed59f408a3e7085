import type { InputItem, OutputItem } from '../../domain/items.ts';
import { isDirect, NATIVE_FIELD } from '../../domain/native.ts';
import { isObject } from '../../schema/by-kind.ts';
import type { PathNotes } from '../path-notes.ts';
import type { MessagesBody } from './schema.ts';
import { openSeal, readRedacted, readThinking, spokenTypes } from './seal.ts';
import { ownServer, SEALED_INPUT, serverNames } from './server-names.ts';
import { type AnyBlock, addBlock, type PartList } from './write-parts.ts';

type Item = Record<string, unknown> & { type: string };

/**
 * Writes `system` and `messages` as the input of a request. Pure, so that a parked input can be written again.
 *
 * @param notes receives the paths of the body for those of the input
 */
export function writeMessagesInput(body: Pick<MessagesBody, 'system' | 'messages'>, notes?: PathNotes): InputItem[] {
  const writer = new InputWriter(notes);
  if (Array.isArray(body.system)) writer.addMessage('system', body.system as AnyBlock[], 'system');
  for (const [index, message] of body.messages.entries()) {
    const { role, content } = message;
    const rest = role === 'system' ? otherFieldsOf(message) : undefined;
    writer.addMessage(role, content as string | AnyBlock[], `messages[${index}].content`, rest);
  }
  return writer.items as InputItem[]; // each has the shape of its kind
}

const otherFieldsOf = ({ role: _, content: __, ...rest }: MessagesBody['messages'][number]): Record<string, unknown> =>
  rest;

class InputWriter {
  readonly items: Item[] = [];
  private readonly notes: PathNotes | undefined;
  private list: PartList | undefined;

  constructor(notes: PathNotes | undefined) {
    this.notes = notes;
  }

  /** @param rest other fields of the message, such as `output_config` of an instruction within the conversation */
  addMessage(
    role: 'user' | 'assistant' | 'system',
    content: string | readonly AnyBlock[],
    path: string,
    rest?: Record<string, unknown>,
  ): void {
    this.list = undefined;
    const start = this.items.length;
    for (const name in rest) this.notes?.add(`input[${start}].${name}`, `${path.replace(/\.content$/, '')}.${name}`);
    if (typeof content === 'string') {
      const item = { type: 'message', role, content };
      this.addItem(rest ? withRest(item, rest) : item, path);
      return;
    }
    const own = role === 'assistant' ? readOwnCalls(content) : undefined;
    for (const [index, block] of content.entries()) {
      const place = `${path}[${index}]`;
      if (role === 'system' || !this.addOwn(block, place, own)) this.addToMessage(role, block, place, index);
    }
    if (content.length === 0) this.addItem({ type: 'message', role, content: [] }, path);
    const first = this.items[start];
    if (rest && first?.type === 'message') this.items[start] = withRest(first, rest);
  }

  private addItem(item: Item, path: string): void {
    this.notes?.add(`input[${this.items.length}]`, path);
    this.items.push(item);
  }

  private addToMessage(role: string, block: AnyBlock, path: string, index: number): void {
    if (!this.list) {
      const at = this.items.length;
      const textType = role === 'assistant' ? 'output_text' : 'input_text';
      this.list = { parts: [], path: `input[${at}].content`, notes: this.notes, textType };
      this.addItem({ type: 'message', role, content: this.list.parts }, path.replace(/\[\d+\]$/, ''));
    }
    addBlock(this.list, block, path, index);
  }

  /** Adds a block that is a separate item. @returns whether it is one */
  private addOwn(block: AnyBlock, path: string, own: ReadonlyMap<unknown, Item> | undefined): boolean {
    const item = this.readItem(block, path, own);
    if (item === undefined) return false;
    this.list = undefined;
    if (item === hidden) return true;
    if (item.type === 'reasoning') {
      this.notes?.add(`input[${this.items.length}].content`, `${path}.thinking`);
      this.notes?.add(`input[${this.items.length}].encrypted_content`, `${path}.data`);
    }
    this.addItem(item, path);
    return true;
  }

  private readItem(block: AnyBlock, path: string, own: ReadonlyMap<unknown, Item> | undefined): Item | undefined {
    switch (block.type) {
      case 'thinking':
        return readThinking(String(block['thinking']), block['signature'] as string | undefined) as unknown as Item;
      case 'redacted_thinking':
        return readRedacted(String(block['data'])) as unknown as Item;
      case 'tool_use': {
        const { id, name, input, type: _, ...rest } = block;
        // The gateway adds it to calls of other providers. Some servers of the format reject it.
        if (isDirect(rest['caller']) && !String(id).startsWith('toolu_')) delete rest['caller'];
        const call = { type: 'function_call', call_id: id, name, arguments: JSON.stringify(input) };
        return withRest(call, rest);
      }
      case 'tool_result':
        return this.readResult(block, path);
      case 'server_tool_use':
      case 'mcp_tool_use':
        return own?.get(block['id']);
      default:
        return own && isResult(block) && own.has(block['tool_use_id']) ? hidden : undefined;
    }
  }

  private readResult(block: AnyBlock, path: string): Item {
    const { tool_use_id: id, content, type: _, ...rest } = block;
    let output: unknown = content ?? '';
    if (Array.isArray(content)) {
      const at = `input[${this.items.length}].output`;
      const list: PartList = { parts: [], path: at, notes: this.notes, textType: 'input_text' };
      for (const [index, part] of (content as AnyBlock[]).entries()) {
        addBlock(list, part, `${path}.content[${index}]`, index);
      }
      output = list.parts;
    }
    return withRest({ type: 'function_call_output', call_id: id, output }, rest);
  }
}

/** A block that another one has already been read with. */
const hidden: Item = { type: '' };

const isResult = ({ type }: AnyBlock): boolean => type.endsWith('_tool_result');

/** Adds fields that have a value, for the native wire. */
function withRest(item: Item, rest: Record<string, unknown>): Item {
  const kept = Object.entries(rest).filter(([, value]) => value !== undefined && value !== null && value !== false);
  return kept.length === 0 ? item : { ...item, [NATIVE_FIELD]: Object.fromEntries(kept) };
}

/** Reads the calls of server tools of the gateway. Their results are in the items. @returns the items by id of the call */
function readOwnCalls(content: readonly AnyBlock[]): Map<unknown, Item> {
  const results = new Map<unknown, AnyBlock>();
  for (const block of content) if (isResult(block)) results.set(block['tool_use_id'], block);
  const own = new Map<unknown, Item>();
  if (results.size === 0) return own;
  for (const block of content) {
    if (block.type !== 'server_tool_use' && block.type !== 'mcp_tool_use') continue;
    const result = results.get(block['id']);
    const item = readOwnCall(block, result) ?? readAdvice(block, result);
    if (item) own.set(block['id'], item);
  }
  return own;
}

/** Reads a call of a server tool of the gateway from its result. @returns undefined for one of the provider */
function readOwnCall(call: AnyBlock, result: AnyBlock | undefined): Item | undefined {
  const content = Array.isArray(result?.['content']) ? (result['content'] as Record<string, unknown>[]) : [];
  const input = isObject(call['input']) ? call['input'] : {};
  const sealed = [input[SEALED_INPUT], ...content.map(({ text, encrypted_content: of }) => of ?? text)];
  for (const text of sealed) {
    const item = openSeal(String(text ?? ''));
    if (item && isItemOf(call, item)) return item as OutputItem;
  }
  return undefined;
}

/**
 * Reads the advice that a session got before it came to this gateway. The provider would reject it, because the gateway
 * consults advisors itself. Sealed advice and failures are left out.
 */
function readAdvice({ type, name, id }: AnyBlock, result: AnyBlock | undefined): Item | undefined {
  if (type !== 'server_tool_use' || name !== 'advisor' || result === undefined) return undefined;
  const { text: advice } = isObject(result['content']) ? result['content'] : {};
  return typeof advice === 'string' ? { type: 'router:advisor', id, status: 'completed', advice } : hidden;
}

/**
 * Whether a sealed item is of the tool that the call names. A server of tools writes the texts of its results. It could
 * seal an item of another kind in one, such as a message of the system.
 */
function isItemOf({ type, name, server_name: server }: AnyBlock, item: Record<string, unknown>): boolean {
  if (type === 'server_tool_use') return serverNames.get(item['type']) === name;
  if (item['type'] === 'mcp_call') return item['name'] === name && item['server_label'] === server;
  return server === ownServer && item['type'] === name && !spokenTypes.has(name);
}
