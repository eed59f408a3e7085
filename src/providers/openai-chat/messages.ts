import { placesOf } from '../../domain/input-places.ts';
import type {
  AgentMessageItem,
  CustomToolCallItem,
  CustomToolCallOutputItem,
  FunctionCallItem,
  FunctionCallOutputItem,
  InputItem,
  MessageItem,
  ReasoningItem,
} from '../../domain/items.ts';
import { dropUnknown, refuse } from '../kit/draft.ts';
import { generatedImageHeading, readGeneratedImage } from '../../domain/generated-image.ts';
import { settleLateOutputs } from '../kit/late-outputs.ts';
import { agentHeading, type Control, itemFields, readReasoningText, writeOtherItem } from '../kit/replay.ts';
import { claudeFormat, noSignature, signatureFormat } from '../../domain/thought-signature.ts';
import { upstreamName } from '../kit/tool-box.ts';
import type { ChatDraft } from './draft.ts';
import { writeMessageContent } from './parts.ts';
import { writeReasoningDetails } from '../../domain/reasoning-details.ts';
import { replaceHalves } from '../../domain/write-json.ts';
import type { ChatMessage, ChatPart, ChatToolCall } from './wire.ts';

/** The translated `input`: messages, and the changes of its control items to other fields of the request. */
export interface WireConversation extends Control {
  messages: ChatMessage[];
}

/**
 * Writes `instructions` and `input` as messages. Consecutive text and calls of the assistant share one message, because
 * servers require the outputs directly after the message with the calls.
 */
export function writeMessages(
  draft: ChatDraft,
  instructions: string | null | undefined,
  given: readonly InputItem[],
): WireConversation {
  const input = settleLateOutputs(given);
  const places = placesOf(input);
  const conversation: WireConversation = { messages: [], additionalTools: [] };
  const { messages } = conversation;
  if (instructions) messages.push({ role: 'system', content: instructions });
  let turn: ChatMessage | undefined; // the assistant message that the next item of the assistant joins
  // Paths are written only for a problem, so all items share one function.
  let current = 0;
  const place = () => `input[${current}]`;
  const contentPlace = () => `input[${current}].content`;
  const outputPlace = () => `input[${current}].output`;
  const { signatures, sealed } = draft.dialect.reasoning_rules ?? {};
  const isSigned = signatures === true;
  let signature: string | undefined; // of the next call

  for (let index = 0; index < input.length; index++) {
    const item = input[index]!;
    current = places?.[index] ?? index;
    switch (item.type) {
      case 'message':
        dropUnknown(draft, item, messageFields, place);
        if (item.role === 'assistant') {
          turn = addAssistantText(messages, turn, writeMessage(draft, item as MessageItem, contentPlace));
        } else {
          messages.push(writeMessage(draft, item as MessageItem, contentPlace));
          turn = undefined;
        }
        break;
      case 'reasoning':
        if (isSigned && item['format'] === signatureFormat && typeof item['encrypted_content'] === 'string') {
          if (sealed === false) break;
          signature = item['encrypted_content'];
          break;
        }
        turn = addReasoning(draft, messages, turn, { item: item as ReasoningItem, next: input[index + 1] }, place);
        break;
      case 'function_call':
      case 'custom_tool_call':
        dropUnknown(draft, item, itemFields.call, place);
        turn = addCall(messages, turn, item as FunctionCallItem | CustomToolCallItem);
        if (isSigned) signCall(turn, signature);
        signature = undefined;
        break;
      case 'function_call_output':
      case 'custom_tool_call_output': {
        const output = item as FunctionCallOutputItem | CustomToolCallOutputItem;
        dropUnknown(draft, output, itemFields.output, place);
        const { content } = writeMessageContent(draft, output.output, outputPlace);
        messages.push({ role: 'tool', tool_call_id: output.call_id, content });
        turn = undefined;
        break;
      }
      case 'agent_message': {
        dropUnknown(draft, item, itemFields.agentMessage, place);
        const message = writeAgentMessage(draft, item as AgentMessageItem, contentPlace);
        if (message === undefined) break;
        messages.push(message);
        turn = undefined;
        break;
      }
      case 'image_generation_call': {
        dropUnknown(draft, item, itemFields.image, place);
        const image = readGeneratedImage(item);
        if (!image) {
          draft.dropped.push(`${place()} (${item.type})`);
          break;
        }
        const url = `data:${image.mediaType};base64,${image.data}`;
        const content: ChatPart[] = [
          { type: 'text', text: generatedImageHeading },
          { type: 'image_url', image_url: { url } },
        ];
        messages.push({ role: 'user', content });
        turn = undefined;
        break;
      }
      default:
        writeOtherItem(draft, conversation, item, place);
    }
  }
  return conversation;
}

const messageFields = new Set([...itemFields.message, 'name']);

function writeMessage(draft: ChatDraft, item: MessageItem, place: () => string): ChatMessage {
  const { content, refusal } = writeMessageContent(draft, item.content, place);
  const role = item.role === 'developer' && !draft.dialect.developer_role ? 'system' : item.role;
  const message: ChatMessage = { role, content };
  if (item.name) message.name = item.name;
  if (refusal === undefined) return message;
  if (role !== 'assistant') throw refuse(draft, place(), `A refusal of the ${item.role}`);
  return { ...message, refusal };
}

function addAssistantText(messages: ChatMessage[], turn: ChatMessage | undefined, said: ChatMessage): ChatMessage {
  // A message after calls must not separate them from their outputs. A message after reasoning belongs to it.
  if (turn === undefined || (turn.content !== null && turn.tool_calls === undefined)) {
    messages.push(said);
    return said;
  }
  turn.content = joinContent(turn.content, said.content);
  if (said.refusal !== undefined) turn.refusal = said.refusal;
  return turn;
}

function joinContent(first: ChatMessage['content'], second: ChatMessage['content']): ChatMessage['content'] {
  if (!first || !second) return first || second;
  if (typeof first === 'string' && typeof second === 'string') return `${first}\n\n${second}`;
  return [...asParts(first), ...asParts(second)];
}

const asParts = (content: string | ChatPart[]): ChatPart[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;

function openTurn(messages: ChatMessage[], turn: ChatMessage | undefined): ChatMessage {
  if (turn !== undefined) return turn;
  const opened: ChatMessage = { role: 'assistant', content: null };
  messages.push(opened);
  return opened;
}

function addCall(
  messages: ChatMessage[],
  turn: ChatMessage | undefined,
  item: FunctionCallItem | CustomToolCallItem,
): ChatMessage {
  const message = openTurn(messages, turn);
  // Some servers parse the arguments of earlier calls and reject an empty text.
  const text = item.type === 'function_call' ? item.arguments || '{}' : JSON.stringify({ input: item.input });
  const call: ChatToolCall = {
    id: item.call_id,
    type: 'function',
    function: { name: upstreamName(item.name, item.namespace), arguments: replaceHalves(text) },
  };
  if (message.tool_calls === undefined) message.tool_calls = [call];
  else message.tool_calls.push(call);
  return message;
}

/** Adds the signature to the last call of a message. Only the first call of a turn needs one. */
function signCall({ tool_calls: calls }: ChatMessage, signature: string | undefined): void {
  const sent = signature || (calls!.length === 1 ? noSignature : undefined);
  if (sent !== undefined) calls!.at(-1)!.extra_content = { google: { thought_signature: sent } };
}

interface ReasoningPlace {
  item: ReasoningItem;
  /** The item after it. */
  next: InputItem | undefined;
}

function addReasoning(
  draft: ChatDraft,
  messages: ChatMessage[],
  turn: ChatMessage | undefined,
  { item, next }: ReasoningPlace,
  place: () => string,
): ChatMessage | undefined {
  dropUnknown(draft, item, itemFields.reasoning, place);
  const { dropped, dialect } = draft;
  const isSealed = dialect.sealed_details && dialect.reasoning_rules?.sealed !== false;
  if (dialect.reasoning_details && isSealed) return addDetails(messages, turn, { item, next });
  if (dialect.thinking_blocks && isSealed && item.format === claudeFormat) return addThinking(messages, turn, item);
  const format = item.format ?? 'unknown';
  if (item.encrypted_content) dropped.push(`${place()}.encrypted_content (${format})`);
  if (item.signature) dropped.push(`${place()}.signature (${format})`);
  if (dialect.reasoning_details) {
    const { encrypted_content: _, signature: __, format: ___, ...plain } = item;
    return addDetails(messages, turn, { item: plain, next });
  }
  const hasContent = !!item.content?.length;
  const hasSummary = !!item.summary?.length;
  const replay = dialect.replay_reasoning || (dialect.reasoning_rules?.back ?? 'never') !== 'never';
  if (hasSummary && (hasContent || !replay)) dropped.push(`${place()}.summary`);
  if (!hasContent && !hasSummary) return turn;
  if (!replay) {
    if (hasContent) dropped.push(`${place()}.content`);
    return turn;
  }
  const text = (hasContent ? item.content! : item.summary!).map((part) => part.text).join('\n');
  // Reasoning after a finished text opens the next message, unless calls still wait for their outputs.
  const message = openTurn(messages, turn?.content != null && !turn.tool_calls ? undefined : turn);
  message.reasoning_content =
    message.reasoning_content === undefined ? text : `${message.reasoning_content}\n\n${text}`;
  return message;
}

/** Writes thinking of Claude as the server has sent it. */
function addThinking(messages: ChatMessage[], turn: ChatMessage | undefined, item: ReasoningItem): ChatMessage {
  const message = openTurn(messages, turn?.content != null && !turn.tool_calls ? undefined : turn);
  const { signature, encrypted_content: data } = item;
  message.thinking_blocks ??= [];
  if (signature) message.thinking_blocks.push({ type: 'thinking', thinking: readReasoningText(item), signature });
  if (data) message.thinking_blocks.push({ type: 'redacted_thinking', data });
  return message;
}

/**
 * Writes reasoning unchanged, with its format. These servers forward to several providers and select by format. The
 * reasoning between two calls names the second one: choice 787.
 */
function addDetails(
  messages: ChatMessage[],
  turn: ChatMessage | undefined,
  { item, next }: ReasoningPlace,
): ChatMessage | undefined {
  const before = turn?.tool_calls && isCall(next) ? next.call_id : undefined;
  const details = writeReasoningDetails(item, turn?.reasoning_details?.length, before);
  if (details.length === 0) return turn;
  const message = openTurn(messages, turn?.content != null && !turn.tool_calls ? undefined : turn);
  message.reasoning_details ??= [];
  for (const detail of details) message.reasoning_details.push(detail);
  return message;
}

const isCall = (item: InputItem | undefined): item is FunctionCallItem | CustomToolCallItem =>
  item?.type === 'function_call' || item?.type === 'custom_tool_call';

/** Writes a message between agents as a user message that names both; undefined if none of its parts can be carried. */
function writeAgentMessage(draft: ChatDraft, item: AgentMessageItem, place: () => string): ChatMessage | undefined {
  const { content } = writeMessageContent(draft, item.content, place);
  if (!content || content.length === 0) return undefined;
  const heading = agentHeading(item);
  return {
    role: 'user',
    content:
      typeof content === 'string' ? `${heading}\n${content}` : [{ type: 'text', text: heading }, ...asParts(content)],
  };
}
