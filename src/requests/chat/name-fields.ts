import { dropNulls } from '../../schema/drop-nulls.ts';
import type { RenameFields } from '../rename-fields.ts';
import { type ItemOrigin, readMessages } from './read-messages.ts';
import { type ChatBody, chatSchema } from './schema.ts';
import { settleHabits } from './settle-habits.ts';
import { settleNeighbors } from './settle-neighbors.ts';

/**
 * Creates a function that turns the fields of `POST /responses` in a text, such as an error or a list of dropped
 * fields, into those of a chat completion: `input[3].content[0].image_url` becomes
 * `messages[2].content[0].image_url.url`.
 *
 * @param parse returns the body, which `checkChatBody` has accepted. Called at the first path
 */
export function createChatNames(parse: () => unknown): RenameFields {
  let body: Partial<ChatBody> | undefined;
  let origins: ItemOrigin[] | undefined;
  const bodyOf = (): Partial<ChatBody> => {
    if (!body) {
      body = parse() as Partial<ChatBody>;
      settleHabits(body);
      settleNeighbors(body);
      dropNulls(chatSchema, body);
    }
    return body;
  };
  const nameItem = (whole: string, index: string, rest: string): string => {
    if (!origins) {
      origins = [];
      readMessages(bodyOf().messages ?? [], { origins });
    }
    const origin = origins[Number(index)];
    if (!origin) return whole;
    const message = bodyOf().messages?.[Number(/\d+/.exec(origin.path)?.[0])] ?? {};
    return origin.path + nameInItem(origin.kind, rest, message);
  };
  const nameTool = (_: string, index: string, rest: string): string => {
    const { tools, functions } = bodyOf();
    const count = tools?.length ?? 0;
    const at = Number(index);
    if (at >= count)
      return at - count < (functions?.length ?? 0) ? `functions[${at - count}]${rest}` : 'web_search_options';
    const type = tools?.[at]?.type;
    const isOwn = type === 'function' || type === 'custom';
    return `tools[${at}]${isOwn && shapeField.test(rest) ? `.${type}` : ''}${rest}`;
  };
  return (text) => {
    if (!mayName.test(text)) return text;
    return text
      .replace(/\binput\[(\d+)\]((?:\.[a-z_]+|\[\d+\])*)/g, nameItem)
      .replace(/\btools\[(\d+)\]((?:\.[a-z_]+|\[\d+\])*)/g, nameTool)
      .replace(/^input(?=:|$)|(?<=`)input(?=`)/g, 'messages')
      .replace(/(?<=`)call_id(?=`)/g, 'tool_call_id')
      .replace(/\bmax_output_tokens\b/g, () =>
        bodyOf().max_completion_tokens ? 'max_completion_tokens' : 'max_tokens',
      )
      .replace(/\btext\.format\.(schema|name|description|strict)\b/g, 'response_format.json_schema.$1')
      .replace(/\btext\.format\b/g, 'response_format')
      .replace(/\btool_choice\b/g, () => (bodyOf().function_call ? 'function_call' : 'tool_choice'))
      .replace(/\btext\.verbosity\b/g, 'verbosity')
      .replace(/\breasoning\.effort\b/g, () => (bodyOf().reasoning?.effort ? 'reasoning.effort' : 'reasoning_effort'));
  };
}

/** Whether a text may contain one of the names. Most do not. */
const mayName = /input|tools\[|tool_choice|call_id|max_output_tokens|text\.|reasoning\.effort/;

/** Fields of a tool that are inside `function` or `custom`. */
const shapeField = /^\.(name|description|parameters|strict|format)\b/;

/**
 * Returns the path within the place that an item comes from.
 *
 * @param message the message that the item comes from
 */
function nameInItem(kind: ItemOrigin['kind'], rest: string, message: object): string {
  switch (kind) {
    case 'message':
      return rest
        .replace(/^\.content\[\d+\]\.annotations/, nameFirst(message, ['annotations', 'file_annotations']))
        .replace(partPath, namePart);
    case 'output':
      return rest
        .replace(/^\.call_id/, '.tool_call_id')
        .replace(/^\.output/, '.content')
        .replace(partPath, namePart);
    case 'call':
      return rest.replace(/^\.call_id/, '.id').replace(/^\.(name|arguments)/, '.function.$1');
    case 'custom_call':
      return rest.replace(/^\.call_id/, '.id').replace(/^\.(name|input)/, '.custom.$1');
    case 'legacy_call':
      return rest;
    case 'reasoning':
      return nameFirst(message, ['reasoning_details', 'thinking_blocks', 'reasoning', 'reasoning_content']);
    case 'signature':
    case 'image':
      return '';
  }
}

/** Returns the first field that a message has. */
const nameFirst = (message: object, fields: readonly string[]): string =>
  `.${fields.find((field) => field in message) ?? fields[0]}`;

const partPath = /^(\.content\[\d+\])\.([a-z_]+)/;

/** The place of each field of a part in the part of a message. */
const partFields: Readonly<Record<string, string>> = {
  image_url: 'image_url.url',
  detail: 'image_url.detail',
  file_data: 'file.file_data',
  file_url: 'file.file_data',
  file_id: 'file.file_id',
  filename: 'file.filename',
  video_url: 'video_url.url',
};

const namePart = (_: string, place: string, field: string): string => `${place}.${partFields[field] ?? field}`;
