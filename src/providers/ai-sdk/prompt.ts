import { placesOf } from '../../domain/input-places.ts';
import {
  type AgentMessageItem,
  type CustomToolCallItem,
  type CustomToolCallOutputItem,
  type EncryptedContentPart,
  type FunctionCallItem,
  type FunctionCallOutputItem,
  type InputItem,
  isKnownItem,
  isKnownPart,
  type MessageItem,
  type MessagePart,
  type ReasoningItem,
} from '../../domain/items.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import { isDataUrl, readDataUrl } from '../../domain/data-url.ts';
import { type Draft, dropOtherSources, dropUnknown, refuse, refuseKind } from '../kit/draft.ts';
import { readGeneratedImage } from '../../domain/generated-image.ts';
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
import type { Metadata } from './model.ts';
import { readSeal } from './seal.ts';

type Part = { type: string; [field: string]: unknown };

interface Message {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string | Part[];
}

/** The messages of a call, and the changes of control items to other fields of the request. */
export class WireConversation implements Control {
  readonly prompt: Message[] = [];
  readonly additionalTools: Control['additionalTools'] = [];
  effort: Control['effort'];
  /** Call id → name upstream. A result must repeat the name. */
  readonly names = new Map<string, string>();
  /** Call id → metadata that its provider requires back. */
  readonly sealed = new Map<string, Metadata>();

  /** Adds parts. Adjacent parts of one role share a message. */
  add(role: 'user' | 'assistant' | 'tool', parts: readonly Part[]): void {
    if (parts.length === 0) return;
    const last = this.prompt.at(-1);
    if (last?.role !== role || typeof last.content === 'string') this.prompt.push({ role, content: [...parts] });
    else for (const part of parts) last.content.push(part);
  }
}

/** @param name the package that opaque reasoning is bound to */
export function writePrompt(draft: Draft, request: ResponseRequest, name: string): WireConversation {
  const { instructions } = request;
  const input = settleLateOutputs(request.input);
  const conversation = new WireConversation();
  if (instructions) conversation.prompt.push({ role: 'system', content: instructions });
  for (const item of input) noteSeal(conversation, item, name);
  const places = placesOf(input);
  for (let index = 0; index < input.length; index++)
    writeItem(draft, conversation, input[index]!, places?.[index] ?? index, name);
  return conversation;
}

/** Records the seal of a call. The seal may be before or after the call. */
function noteSeal(conversation: WireConversation, item: InputItem, name: string): void {
  if (item.type !== 'reasoning') return;
  const seal = readSeal(name, (item as ReasoningItem).encrypted_content);
  if (seal?.on === 'call' && seal.callId !== undefined) conversation.sealed.set(seal.callId, seal.metadata);
}

function writeItem(draft: Draft, conversation: WireConversation, item: InputItem, index: number, name: string): void {
  const place = `input[${index}]`;
  const at = () => place;
  const fields = isKnownItem(item) ? fieldsOf[item.type] : undefined;
  if (fields) dropUnknown(draft, item, fields, at);
  switch (item.type) {
    case 'message': {
      const { role, content } = item as MessageItem;
      const parts = writeParts(draft, content, `${place}.content`);
      if (role === 'user' || role === 'assistant') conversation.add(role, parts);
      else if (parts.every(({ type }) => type === 'text')) {
        conversation.prompt.push({ role: 'system', content: parts.map(({ text }) => text).join('\n') });
      } else throw refuse(draft, place, 'An image or file in a system message');
      return;
    }
    case 'reasoning':
      writeReasoning(draft, conversation, item as ReasoningItem, place, name);
      return;
    case 'function_call':
    case 'custom_tool_call': {
      const call = item as FunctionCallItem | CustomToolCallItem;
      const toolName = upstreamName(call.name, call.namespace);
      const value = call.type === 'custom_tool_call' ? { input: call.input } : readArguments(draft, call, at);
      conversation.names.set(call.call_id, toolName);
      conversation.add('assistant', [
        {
          type: 'tool-call',
          toolCallId: call.call_id,
          toolName,
          input: value,
          ...options(conversation.sealed.get(call.call_id)),
        },
      ]);
      return;
    }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const { call_id: toolCallId, output } = item as FunctionCallOutputItem | CustomToolCallOutputItem;
      const written =
        typeof output === 'string'
          ? { type: 'text', value: output }
          : { type: 'content', value: writeParts(draft, output, `${place}.output`) };
      const toolName = conversation.names.get(toolCallId) ?? toolCallId;
      conversation.add('tool', [{ type: 'tool-result', toolCallId, toolName, output: written }]);
      return;
    }
    case 'agent_message': {
      const message = item as AgentMessageItem;
      const parts = writeParts(draft, message.content, `${place}.content`);
      if (parts.length > 0) conversation.add('user', [{ type: 'text', text: agentHeading(message) }, ...parts]);
      return;
    }
    case 'image_generation_call': {
      const image = readGeneratedImage(item);
      if (image) conversation.add('assistant', [writeData(image.data, image.mediaType)]);
      else draft.dropped.push(`${place} (${item.type})`);
      return;
    }
    default:
      writeOtherItem(draft, conversation, item, at);
  }
}

const fieldsOf: Readonly<Record<string, ReadonlySet<string>>> = {
  message: itemFields.message,
  reasoning: itemFields.reasoning,
  function_call: itemFields.call,
  custom_tool_call: itemFields.call,
  function_call_output: itemFields.output,
  custom_tool_call_output: itemFields.output,
  agent_message: itemFields.agentMessage,
  image_generation_call: itemFields.image,
};

const partFields: Readonly<Record<string, ReadonlySet<string>>> = {
  input_text: new Set(['type', 'text']),
  output_text: new Set(['type', 'text']),
  refusal: new Set(['type', 'refusal']),
  input_image: new Set(['type', 'image_url', 'file_id']),
  input_file: new Set(['type', 'file_data', 'file_url', 'file_id', 'filename']),
  input_audio: new Set(['type', 'input_audio']),
  input_video: new Set(['type', 'video_url']),
  encrypted_content: new Set(['type', 'encrypted_content']),
};

const options = (metadata: Metadata | undefined) =>
  metadata === undefined ? undefined : { providerOptions: metadata };

function writeReasoning(
  draft: Draft,
  conversation: WireConversation,
  item: ReasoningItem,
  place: string,
  name: string,
): void {
  const seal = readSeal(name, item.encrypted_content);
  if (seal?.on === 'reasoning')
    conversation.add('assistant', [{ type: 'reasoning', text: readReasoningText(item), ...options(seal.metadata) }]);
  else if (!seal) draft.dropped.push(`${place} (reasoning, ${item.format ?? 'unsigned'})`);
}

function writeParts(
  draft: Draft,
  parts: string | readonly (MessagePart | EncryptedContentPart)[] | null | undefined,
  path: string,
): Part[] {
  if (typeof parts === 'string') return parts === '' ? [] : [{ type: 'text', text: parts }];
  return (parts ?? []).flatMap((part, index) => writePart(draft, part, `${path}[${index}]`) ?? []);
}

function writePart(draft: Draft, part: MessagePart | EncryptedContentPart, place: string): Part | undefined {
  const fields = isKnownPart(part) ? partFields[part.type] : undefined;
  if (fields === undefined) throw refuseKind(draft, place, 'part', part.type);
  dropUnknown(draft, part, fields, () => place);
  switch (part.type) {
    case 'input_text':
    case 'output_text':
      return part.text === '' ? undefined : { type: 'text', text: part.text };
    case 'refusal':
      return { type: 'text', text: part.refusal };
    case 'input_image':
      if (!part.image_url) throw refuse(draft, `${place}.file_id`, 'An image given by file id');
      dropOtherSources(draft, part, 'image_url', () => place);
      return writeFile(draft, part.image_url, 'image/*', undefined, place);
    case 'input_file': {
      const data = part.file_data || part.file_url;
      if (!data) throw refuse(draft, `${place}.file_id`, 'A file given by file id');
      dropOtherSources(draft, part, part.file_data ? 'file_data' : 'file_url', () => place);
      return writeFile(draft, data, 'application/pdf', part.filename, place);
    }
    case 'input_audio':
      return writeData(part.input_audio.data, `audio/${part.input_audio.format}`);
    case 'input_video':
      return writeFile(draft, part.video_url, 'video/mp4', undefined, place);
    case 'encrypted_content':
      draft.dropped.push(place);
      return undefined;
  }
}

const notBase64 = /[^A-Za-z0-9+/_=\s-]/;

function writeFile(draft: Draft, text: string, otherwise: string, filename: string | undefined, place: string): Part {
  const named = filename === undefined ? undefined : { filename };
  if (/^https?:/.test(text)) {
    const url = URL.parse(text);
    if (!url) throw refuse(draft, place, 'An address that is no URL');
    return { type: 'file', data: { type: 'url', url }, mediaType: otherwise, ...named };
  }
  const read = readDataUrl(text);
  if (isDataUrl(text) && !read?.isBase64) throw refuse(draft, place, 'A data URL that is not base64');
  // The SDK would throw here, which would look like a failure of the provider.
  if (!read && notBase64.test(text)) throw refuse(draft, place, 'An address that is neither http nor a data URL');
  return { ...writeData(read ? read.data : text, read?.mediaType || otherwise), ...named };
}

const writeData = (data: string, mediaType: string): Part => ({
  type: 'file',
  data: { type: 'data', data },
  mediaType,
});
