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
import { readGeneratedImage } from '../../domain/generated-image.ts';
import { readNative } from '../../domain/native.ts';
import { parseObject } from '../../domain/parse-object.ts';
import { settleLateOutputs } from '../kit/late-outputs.ts';
import { agentHeading, type Control, itemFields, readArguments, writeOtherItem } from '../kit/replay.ts';
import { noSignature, signatureFormat } from '../../domain/thought-signature.ts';
import { upstreamName } from '../kit/tool-box.ts';
import { withNative } from './native.ts';
import { type GeminiDraft, writeParts } from './parts.ts';
import type { GeminiContent, Part } from './wire.ts';

/** The conversation of `instructions` and `input`: the system text, turns and the effects of control items. */
export class WireConversation implements Control {
  readonly system: Part[] = [];
  readonly contents: GeminiContent[] = [];
  readonly additionalTools: Control['additionalTools'] = [];
  effort: Control['effort'];
  /** Call id → name upstream. A result must repeat the name. */
  readonly names = new Map<string, string>();
  /** A signature whose part has not been written yet. */
  private signature: string | undefined;

  /** Adds parts to a turn. The protocol has two alternating roles, so adjacent messages of one role share a turn. */
  add(role: GeminiContent['role'], parts: readonly Part[]): void {
    if (parts.length === 0) return;
    this.settle();
    this.push(role, parts);
  }

  addSystem(parts: readonly Part[]): void {
    for (const part of parts) this.system.push(part);
  }

  /** Adds a signature, which precedes its call. */
  addSignature(signature: string): void {
    this.settle();
    this.signature = signature;
  }

  /** Adds the signature of the text before it. */
  signText(signature: string): void {
    const last = this.contents.at(-1);
    const part = last?.role === 'model' ? last.parts.at(-1) : undefined;
    if (part?.text === undefined || part.thoughtSignature !== undefined) this.addSignature(signature);
    else part.thoughtSignature = signature;
  }

  addCall(call: Part, needsSignature: boolean): void {
    const last = this.contents.at(-1);
    const isFirst = last?.role !== 'model' || !last.parts.some((part) => part.functionCall);
    const signature = this.signature ?? (needsSignature && isFirst ? noSignature : undefined);
    this.signature = undefined;
    this.push('model', [signature === undefined ? call : { ...call, thoughtSignature: signature }]);
  }

  /**
   * Writes a signature that no call follows. It seals the image before it, or the text. For text, it gets a separate
   * part.
   */
  settle(): void {
    const { signature } = this;
    if (signature === undefined) return;
    this.signature = undefined;
    const last = this.contents.at(-1);
    const part = last?.role === 'model' ? last.parts.at(-1) : undefined;
    if (part?.inlineData && part.thoughtSignature === undefined) part.thoughtSignature = signature;
    else this.push('model', [{ text: '', thoughtSignature: signature }]);
  }

  private push(role: GeminiContent['role'], parts: readonly Part[]): void {
    const last = this.contents.at(-1);
    if (last?.role !== role) this.contents.push({ role, parts: [...parts] });
    else for (const part of parts) last.parts.push(part);
  }
}

/** Writes `instructions` and `input`. @see docs/reference/wires.md */
export function writeContents(
  draft: GeminiDraft,
  instructions: string | null | undefined,
  given: readonly InputItem[],
): WireConversation {
  const input = settleLateOutputs(given);
  const conversation = new WireConversation();
  if (instructions) conversation.system.push({ text: instructions });
  const places = placesOf(input);
  for (let index = 0; index < input.length; index++)
    writeItem(draft, conversation, input[index]!, places?.[index] ?? index);
  conversation.settle();
  return conversation;
}

function writeItem(draft: GeminiDraft, conversation: WireConversation, item: InputItem, index: number): void {
  const place = () => `input[${index}]`;
  switch (item.type) {
    case 'message': {
      dropUnknown(draft, item, itemFields.message, place);
      const { role, content } = item as MessageItem;
      const parts = writeParts(draft, content, `input[${index}].content`);
      if (role === 'user') conversation.add('user', parts);
      else if (role === 'assistant') conversation.add('model', parts);
      else if (parts.every((part) => part.text !== undefined)) conversation.addSystem(parts);
      else throw refuse(draft, place(), 'An image or file in a system message');
      return;
    }
    case 'reasoning':
      dropUnknown(draft, item, itemFields.reasoning, place);
      writeReasoning(draft, conversation, item as ReasoningItem, place);
      return;
    case 'function_call':
    case 'custom_tool_call':
      dropUnknown(draft, item, itemFields.call, place);
      writeCall(draft, conversation, item as FunctionCallItem | CustomToolCallItem, place);
      return;
    case 'function_call_output':
    case 'custom_tool_call_output':
      dropUnknown(draft, item, itemFields.output, place);
      writeOutput(draft, conversation, item as FunctionCallOutputItem | CustomToolCallOutputItem, index);
      return;
    case 'agent_message': {
      dropUnknown(draft, item, itemFields.agentMessage, place);
      const message = item as AgentMessageItem;
      const parts = writeParts(draft, message.content, `input[${index}].content`);
      if (parts.length > 0) conversation.add('user', [{ text: agentHeading(message) }, ...parts]);
      return;
    }
    case 'image_generation_call': {
      dropUnknown(draft, item, itemFields.image, place);
      const image = readGeneratedImage(item);
      if (image) conversation.add('model', [{ inlineData: { mimeType: image.mediaType, data: image.data } }]);
      else draft.dropped.push(`input[${index}] (${item.type})`);
      return;
    }
    default:
      writeOtherItem(draft, conversation, item, place);
  }
}

/** Writes signatures unchanged for the provider that made them. The provider does not need the thoughts: choice 85. */
function writeReasoning(
  draft: GeminiDraft,
  conversation: WireConversation,
  item: ReasoningItem,
  place: () => string,
): void {
  if (draft.keepsNative) {
    for (const { text } of item.summary ?? []) conversation.add('model', [{ text, thought: true }]);
  }
  const isRefused = draft.dialect.reasoning_rules?.sealed === false;
  if (!isRefused && (item.format === signatureFormat || isLikelyOurs(item))) {
    const isOfText = draft.keepsNative && readNative(item)?.of === 'text';
    if (isOfText && item.encrypted_content) conversation.signText(item.encrypted_content);
    else if (item.encrypted_content) conversation.addSignature(item.encrypted_content);
    else if (item.encrypted_content === '') conversation.settle(); // unsigned call: see `part-reader.ts`
    return;
  }
  const isWhole = draft.keepsNative && !item.format && !item.content?.length;
  if (!isWhole) draft.dropped.push(`${place()} (reasoning, ${item.format ?? 'unsigned'})`);
}

const ownId = /^rs_[0-9A-Za-z]{24}$/;

const signatureForm = /^[A-Za-z0-9+/]+={0,2}$/;

/**
 * Whether an item without a format is probably ours. Some clients drop the format. The item then has an id of ours and
 * a text that looks like a signature: choice 105.
 */
const isLikelyOurs = ({ format, id, encrypted_content: sealed }: ReasoningItem): boolean =>
  !format && ownId.test(id ?? '') && signatureForm.test(sealed ?? '');

function writeCall(
  draft: GeminiDraft,
  conversation: WireConversation,
  item: FunctionCallItem | CustomToolCallItem,
  place: () => string,
): void {
  const { call_id: id } = item;
  const name = upstreamName(item.name, item.namespace);
  conversation.names.set(id, name);
  const args = item.type === 'custom_tool_call' ? { input: item.input } : readArguments(draft, item, place);
  const { native, inner } = nativeOf(draft, item);
  const call = draft.dialect.call_ids && inner.id !== null ? { id, name, args } : { name, args };
  conversation.addCall(
    { ...withNative({}, native), functionCall: { ...withoutId(inner), ...call } },
    draft.dialect.reasoning_rules?.signatures ?? draft.traits.thinking === 'level',
  );
}

/** Returns what only the format can say about a call or a result, and about the part with it. An `id` of null: it has none. */
function nativeOf(draft: GeminiDraft, item: object) {
  const native = draft.keepsNative ? readNative(item) : undefined;
  return { native, inner: (native?.inner ?? {}) as Record<string, unknown> };
}

const withoutId = ({ id: _, ...rest }: Record<string, unknown>): object => rest;

/**
 * A member `$ref` anywhere in a JSON text. Gemini reads it in a result as the name of one of its parts, and rejects others:
 * https://github.com/vercel/ai/issues/14369.
 */
const reference = /"\$ref"\s*:/;

/** Writes a result as an object. Text is wrapped in an object. Images follow the result. */
function writeOutput(
  draft: GeminiDraft,
  conversation: WireConversation,
  item: FunctionCallOutputItem | CustomToolCallOutputItem,
  index: number,
): void {
  const { call_id: id, output } = item;
  const { native, inner } = nativeOf(draft, item);
  const { name: given, parts: hasParts, ...rest } = inner;
  const name = typeof given === 'string' ? given : (conversation.names.get(id) ?? id);
  const parts = typeof output === 'string' ? [] : writeParts(draft, output, `input[${index}].output`);
  const text = typeof output === 'string' ? output : parts.flatMap((part) => part.text ?? []).join('\n');
  const isObject = item.type === 'function_call_output' && (native !== undefined || !reference.test(text));
  const response = (isObject && parseObject(text, 'arguments')) || { output: text };
  const result = draft.dialect.call_ids && inner.id !== null ? { id, name, response } : { name, response };
  const media = parts.filter((part) => part.text === undefined);
  const written = { ...withoutId(rest), ...result, ...(hasParts ? { parts: media } : undefined) };
  conversation.add('user', [{ ...withNative({}, native), functionResponse: written }, ...(hasParts ? [] : media)]);
}
