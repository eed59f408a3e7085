import { placesOf } from '../../domain/input-places.ts';
import type {
  AgentMessageItem,
  CustomToolCallItem,
  FunctionCallItem,
  FunctionCallOutputItem,
  InputItem,
  MessageItem,
  ReasoningItem,
} from '../../domain/items.ts';
import { dropUnknown, refuse } from '../kit/draft.ts';
import { generatedImageHeading, readGeneratedImage } from '../../domain/generated-image.ts';
import { isSealedItem, readSealedText, sealReasoning } from '../../domain/sealed-items.ts';
import { claudeFormat } from '../../domain/thought-signature.ts';
import { settleLateOutputs } from '../kit/late-outputs.ts';
import {
  agentHeading,
  type Control,
  itemFields,
  readArguments,
  readReasoningText,
  writeOtherItem,
} from '../kit/replay.ts';
import { upstreamName } from '../kit/tool-box.ts';
import { type MessagesDraft, nativeFields, readMark, writeParts } from './parts.ts';
import type { Block, CacheMark, Source, Turn } from './wire.ts';

/** The conversation of `instructions` and `input`: system blocks, turns and the effects of control items. */
export class WireConversation implements Control {
  readonly system: Block[] = [];
  readonly turns: Turn[] = [];
  readonly additionalTools: Control['additionalTools'] = [];
  effort: Control['effort'];
  /** The user's blocks in the current turn. */
  private said: Block[] = [];
  /** The last message that no other one joins. */
  private whole: Turn | undefined;

  /** Adds blocks to a turn. The protocol has two alternating roles, so adjacent messages of one role share a turn. */
  add(role: Turn['role'], blocks: readonly Block[]): void {
    if (blocks.length === 0) return;
    const { content } = this.turnOf(role);
    const end = role === 'user' ? this.said : content;
    for (const block of blocks) end.push(block);
  }

  /** Adds a result. Results come first in their turn, before the user's text. */
  addResult(block: Block): void {
    this.turnOf('user').content.push(block);
  }

  /** Adds a message with further fields, which belong to it alone. */
  addWhole(turn: Turn): void {
    this.endTurn();
    this.turns.push(turn);
    this.whole = turn;
  }

  /** Completes the current turn. */
  endTurn(): void {
    const last = this.turns.at(-1);
    if (last) for (const block of this.said) last.content.push(block);
    this.said = [];
  }

  private turnOf(role: Turn['role']): Turn {
    const last = this.turns.at(-1);
    if (last?.role === role && last !== this.whole) return last;
    this.endTurn();
    const turn: Turn = { role, content: [] };
    this.turns.push(turn);
    return turn;
  }

  /**
   * Whether the calls of the last results lack the thinking before them. Some clients drop signatures, and other
   * providers made some calls. The provider rejects such a conversation if a thinking budget is set.
   */
  get lacksThinking(): boolean {
    let at = this.turns.length - 1;
    while (this.turns[at]?.content[0]?.type === 'tool_result') at -= 2; // to the calls: turns alternate
    const first = this.turns[at + 1]?.content[0];
    return at < this.turns.length - 1 && first?.type !== 'thinking' && first?.type !== 'redacted_thinking';
  }
}

/** Writes `instructions` and `input`. @see docs/reference/wires.md */
export function writeMessages(
  draft: MessagesDraft,
  instructions: string | null | undefined,
  given: readonly InputItem[],
): WireConversation {
  const input = settleLateOutputs(given);
  const conversation = new WireConversation();
  if (instructions) conversation.system.push({ type: 'text', text: instructions });
  const places = placesOf(input);
  for (let index = 0; index < input.length; index++)
    writeItem(draft, conversation, input[index]!, places?.[index] ?? index);
  conversation.endTurn();
  return conversation;
}

const outputFields = new Set([...itemFields.output, 'is_error', 'cache_control']);
const callFields = new Set([...itemFields.call, 'cache_control']);

function writeItem(draft: MessagesDraft, conversation: WireConversation, item: InputItem, index: number): void {
  const place = () => `input[${index}]`;
  switch (item.type) {
    case 'message': {
      dropUnknown(draft, item, itemFields.message, place);
      const { role, content } = item as MessageItem;
      const blocks = writeParts(draft, content, `input[${index}].content`);
      const own = nativeFields(draft, item);
      if (own && role === 'system' && draft.dialect.turns?.system !== 'first') {
        conversation.addWhole({ role, content: blocks, ...own });
        return;
      }
      for (const name in own) draft.dropped.push(`${place()}.${name}`);
      if (blocks.length === 0) return;
      if (role === 'user' || role === 'assistant') conversation.add(role, blocks);
      else if (draft.dialect.turns?.system === 'first' && conversation.turns.length > 0)
        conversation.add('user', [{ type: 'text', text: INSTRUCTION }, ...blocks]);
      else if (draft.keepsNative && role === 'system' && conversation.turns.length > 0) conversation.add(role, blocks);
      else addSystem(draft, conversation, blocks, place);
      return;
    }
    case 'reasoning':
      dropUnknown(draft, item, itemFields.reasoning, place);
      conversation.add('assistant', writeReasoning(draft, item as ReasoningItem, place));
      return;
    case 'function_call':
    case 'custom_tool_call':
      dropUnknown(draft, item, callFields, place);
      conversation.add('assistant', [writeCall(draft, item as FunctionCallItem | CustomToolCallItem, place)]);
      return;
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const { call_id: callId, output, is_error: hasFailed } = item as FunctionCallOutputItem;
      dropUnknown(draft, item, outputFields, place);
      const content = typeof output === 'string' ? output : writeParts(draft, output, `input[${index}].output`);
      const error = hasFailed === true ? { is_error: true } : undefined;
      conversation.addResult({
        type: 'tool_result',
        tool_use_id: callId,
        content,
        ...error,
        ...markOf(draft, item),
        ...nativeFields(draft, item),
      });
      return;
    }
    case 'agent_message': {
      dropUnknown(draft, item, itemFields.agentMessage, place);
      const message = item as AgentMessageItem;
      const blocks = writeParts(draft, message.content, `input[${index}].content`);
      const heading: Block = { type: 'text', text: agentHeading(message) };
      if (blocks.length > 0) conversation.add('user', [heading, ...blocks]);
      return;
    }
    case 'image_generation_call': {
      dropUnknown(draft, item, itemFields.image, place);
      const image = readGeneratedImage(item);
      if (!image) {
        draft.dropped.push(`input[${index}] (${item.type})`);
        return;
      }
      const source: Source = { type: 'base64', media_type: image.mediaType, data: image.data };
      conversation.add('user', [
        { type: 'text', text: generatedImageHeading },
        { type: 'image', source },
      ]);
      return;
    }
    default:
      writeOtherItem(draft, conversation, item, place);
  }
}

/** How an instruction within a conversation is marked, for a server that takes none there. */
const INSTRUCTION = 'System:';

/** Adds to the system prompt. The protocol has one, before all messages. */
function addSystem(draft: MessagesDraft, conversation: WireConversation, blocks: Block[], place: () => string): void {
  for (const block of blocks) {
    if (block.type !== 'text') throw refuse(draft, place(), 'An image or file in a system message');
    conversation.system.push(block);
  }
}

/**
 * Writes reasoning unchanged for the provider that made it. Without a signature Claude would reject it. Other servers of
 * the format sign nothing, and need it back.
 */
function writeReasoning(draft: MessagesDraft, item: ReasoningItem, place: () => string): Block[] {
  const { format, signature, encrypted_content: data } = item;
  const { gateway: isGateway } = draft.dialect;
  const isOurs =
    (format === claudeFormat || (!format && !data)) && (isGateway || !isSealedItem(signature ?? data ?? ''));
  const isRefused = draft.dialect.reasoning_rules?.sealed === false;
  if (isOurs && signature && !isRefused) return [{ type: 'thinking', thinking: readReasoningText(item), signature }];
  if (isOurs && data && !isRefused) return [{ type: 'redacted_thinking', data }];
  if (isGateway) return writeSealed(item);
  const text = readReasoningText(item);
  if (isUnsigned(item) && takesUnsigned(draft) && text !== '') return [{ type: 'thinking', thinking: text }];
  draft.dropped.push(`${place()} (reasoning, ${item.format ?? 'unsigned'})`);
  return [];
}

const isUnsigned = ({ format, signature, encrypted_content: data }: ReasoningItem): boolean =>
  (!format || format === 'unknown') && !signature && !data;

function takesUnsigned({ dialect }: MessagesDraft): boolean {
  const { back = 'never' } = dialect.reasoning_rules ?? {};
  return back !== 'never';
}

/** Writes reasoning of another format as another gateway of this kind reads it. */
function writeSealed(item: ReasoningItem): Block[] {
  const thinking = readSealedText(item);
  if (thinking !== '') return [{ type: 'thinking', thinking, signature: sealReasoning(item) }];
  return item.encrypted_content || item.signature ? [{ type: 'redacted_thinking', data: sealReasoning(item) }] : [];
}

/** Returns the cache breakpoint of a call or a result. */
function markOf(draft: MessagesDraft, item: object): { cache_control?: CacheMark } {
  const mark = readMark(draft, item);
  return mark ? { cache_control: mark } : {};
}

function writeCall(draft: MessagesDraft, item: FunctionCallItem | CustomToolCallItem, place: () => string): Block {
  const { call_id: id, name, namespace } = item;
  const input = item.type === 'custom_tool_call' ? { input: item.input } : readArguments(draft, item, place);
  return {
    type: 'tool_use',
    id,
    name: upstreamName(name, namespace),
    input,
    ...markOf(draft, item),
    ...nativeFields(draft, item),
  };
}
