import type { TSchema } from 'typebox';
import { chatSchema } from '../../src/requests/chat/schema.ts';
import { geminiSchema } from '../../src/requests/gemini/schema.ts';
import { messagesSchema } from '../../src/requests/messages/schema.ts';
import { requestSchema } from '../../src/requests/responses/schema.ts';
import type { Values } from './every-field.ts';
import { columns } from './matrix.ts';

type Fields = Record<string, unknown>;

/** A field that need not reach the provider, with the reason. Absent wires: on every wire. */
export type Exception = readonly [path: RegExp, reason: string, wires?: readonly string[]];

/** An API whose fields are tried. */
export interface TriedApi {
  id: string;
  /** Returns the path below `/api/v1` for a model, if it has one. */
  pathOf: (model: string, stream: boolean) => string;
  schema: TSchema;
  values: Values;
  /** Values of the fields beside the tried one, with every source of an image and a file. */
  besideSources?: Values['beside'];
  exceptions: readonly Exception[];
  /** The list of items or messages. */
  list: 'input' | 'messages' | 'contents';
  /** The first entry of the list. */
  hello: Fields;
  /** Returns the items that an item belongs to. */
  listEarlier(item: Fields): Fields[];
  /** Returns the tools that a choice names. */
  listChosen(choice: Fields): Fields[];
}

const hello = { role: 'user', content: 'hi' };

export const wireIds = [...Object.keys(columns), 'simulator'];

/** The wires of other formats than an API. */
const except = (native: string): string[] => wireIds.filter((wire) => wire !== native);

const translated = except('openai-responses');

const responsesExceptions: readonly Exception[] = [
  [
    /^(debug|max_tool_calls|models?|plugins|preset|provider|route|session_id|stop_server_tools_when|stream|trace)\b/,
    'The gateway itself reads it.',
  ],
  [/^truncation$/, 'It is the switch of a plugin.', translated],
  [
    /^(user|safety_identifier)$/,
    'The provider gets a hash, as other tests show.',
    ['openai-responses', 'openai-chat', 'anthropic-messages'],
  ],
  [/^input\[\](\(\w+\))+\.(id|status)$/, 'Only a provider that stores responses reads it.', translated],
  [/^input\[\]\(configuration_update\)\.id$/, 'The item becomes a setting.'],
  [/^input\[\]\(\w+\)\.container_id$/, 'The container of another provider.', translated],
  [/^input\[\]\(router:/, 'The model sees the call and the result that it saw.'],
  [/tools\[\]\((router:|tool_search)/, 'The gateway itself runs the tool.'],
  [/tools\[\]\(mcp\)/, 'The gateway itself calls the server.', translated],
  [/tools\[\]\(code_interpreter\)\.container$/, 'The id of a container of the gateway.'],
  [/\(code_interpreter\)\.container\.memory_limit$/, 'The stage of the tool names it.', translated],
  [/\(assistant\)\.model$/, 'A router reads it.'],
  [/\(function_call\)\.subagent_/, 'A tool of the gateway reads it.'],
  [/\((function|custom_tool)_call\)\.async$/, 'It says that the output comes late, as it does.', translated],
  [/\(reasoning\)\.format$/, 'It selects the providers that get the opaque fields.'],
  [/\(additional_tools\)\.role$/, 'Tools of other protocols have no role.', translated],
  [/\(mcp_call\)\.error\(\w+\)\.code$/, 'The model sees the message of the error.', translated],
  [/\(url_citation\)\.content$/, 'An excerpt that the gateway has added.'],
  [/^tool_choice\(mcp\)/, 'The gateway itself calls the server.', translated],
  [/\(input_(audio|video)\)/, 'The package rejects it.', ['ai-sdk']],
  [/\(web_search_(2025_08_26|preview|preview_2025_03_11)\)\./, 'It has the schema of `web_search`.'],
  [
    /\(additional_tools\)\.tools\[\]\((?!function|custom|namespace|web_search)/,
    'It has the schema of a tool in `tools`.',
  ],
  [/^text\.format\(json_schema\)\.name$/, 'A required label. It says nothing about the output.', translated],
];

/** Values of the fields beside the tried one. */
const beside = {
  '.arguments': '{}',
  '(mcp)': { type: 'mcp', server_label: 'docs', server_url: 'https://a.example/mcp' },
  '(function).name': 'f',
  '.vector_store_ids': ['vs_1'],
  '.image_url': 'data:image/png;base64,iVBORw0KGgo=',
  '(input_file)': { type: 'input_file', file_data: 'data:application/pdf;base64,JVBE', filename: 'a.pdf' },
  '(allowed_tools).tools[]': { type: 'function', name: 'f' },
};
/** The same with every source of an image and a file. */
const besideSources = {
  ...beside,
  '(input_image)': { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', file_id: 'file-1' },
  '(input_file)': {
    type: 'input_file',
    file_data: 'data:application/pdf;base64,JVBE',
    file_url: 'https://a.example/b.pdf',
    file_id: 'file-1',
    filename: 'b.pdf',
  },
};
const schemaWithWord = { type: 'object', properties: { a: { type: 'string', description: '*' } } };
const responsesValues = {
  beside,
  tried: {
    '.arguments': '{"a":"*"}',
    '(message)(assistant).id': 'msg_*',
    '(function_call).id': 'fc_*',
    '(custom_tool_call).id': 'ctc_*',
    '.image_url': 'data:image/png;base64,iVBORw0KGgo*',
    '.file_url': 'https://a.example/*.pdf',
    '.video_url': 'https://a.example/*.mp4',
    '.server_url': 'https://a.example/*',
    '.file_data': 'data:application/pdf;base64,*',
    '.filename': '*.pdf',
    '(image_generation_call).result': 'iVBORw0KGgo*',
    '.parameters': schemaWithWord,
    'format(json_schema).schema': schemaWithWord,
  },
  distinct: {
    '.engine': ['native', 'exa'], // `auto` is `native` where the provider searches
    service_tier: ['auto', 'flex', 'priority', 'scale'], // `auto` is `default`, and `fast` is `priority`
    '.effort': ['high', 'medium', 'low', 'minimal', 'none'], // some models have several names for the highest
    include: [['file_search_call.results'], ['code_interpreter_call.outputs'], ['message.output_text.logprobs']],
  },
};

function listEarlierItems({ type, call_id: callId, approval_request_id: id }: Fields): Fields[] {
  switch (type) {
    case 'function_call_output':
      return [{ type: 'function_call', call_id: callId, name: 'f', arguments: '{}' }];
    case 'custom_tool_call_output':
      return [{ type: 'custom_tool_call', call_id: callId, name: 'f', input: 'x' }];
    case 'shell_call_output':
      return [{ type: 'shell_call', call_id: callId, action: { commands: ['ls'] } }];
    case 'mcp_approval_response':
      return [{ type: 'mcp_approval_request', id, server_label: 'docs', name: 'f', arguments: '{}' }];
    default:
      return [];
  }
}

function listChosenTools({ type, name = 'f', tools, server_label: label }: Fields): Fields[] {
  if (Array.isArray(tools)) return tools.flatMap((tool: Fields) => listChosenTools(tool));
  if (type === 'mcp') return [{ type, server_label: label, server_url: 'https://a.example/mcp' }];
  return [
    type === 'custom' || type === 'shell' || type === 'apply_patch' ? { type, name } : { type: 'function', name },
  ];
}

const gatewayFields =
  /^(debug|fallbacks|include_reasoning|max_tool_calls|models?|n|plugins|preset|provider|route|session_id|stop_server_tools_when|stream|stream_options|trace|transforms|usage)\b/;

/** Exceptions of the APIs in formats of other vendors. */
const common: readonly Exception[] = [
  [gatewayFields, 'The gateway itself reads it.'],
  [/tools\[\]\((router:|tool_search)/, 'The gateway itself runs the tool.'],
  [/tools\[\]\(mcp\)/, 'The gateway itself calls the server.', translated],
];

const chatExceptions: readonly Exception[] = [
  ...common,
  [
    /^(user|safety_identifier)$/,
    'The provider gets a hash.',
    ['openai-responses', 'openai-chat', 'anthropic-messages'],
  ],
  [/^reasoning\.exclude$/, 'It hides a part of the response.'],
  [/^stop$/, 'The gateway applies it, and `adapted` names it.', ['openai-responses', 'openai-chat']],
  [/tools\[\]\(code_interpreter\)\.container$/, 'The id of a container of the gateway.'],
  [/\(code_interpreter\)\.container\.memory_limit$/, 'The stage of the tool names it.', translated],
  [/\(assistant\)\.model$/, 'A router reads it.'],
  [/tool_calls\[\]\(\w+\)\.index$/, 'The place in a stream.'],
  [/\(reasoning\.\w+\)\.(id|index|format|tool_call_id)$/, 'The place and the dialect of a block.'],
  [/url_citation\.content$/, 'An excerpt that the gateway has added.', ['openai-responses']],
  [/\((input_audio|video_url)\)/, 'The package rejects it.', ['ai-sdk']],
  [/\(web_search_(2025_08_26|preview|preview_2025_03_11)\)\./, 'It has the schema of `web_search`.'],
  [/json_schema\.name$/, 'A required label. It says nothing about the output.', except('openai-chat')],
];

const { '.image_url': imageUrl, ...besideInChat } = beside;
const chatValues = {
  beside: {
    ...besideInChat,
    '(mcp)': { ...beside['(mcp)'], require_approval: 'never' },
    '(image_url).image_url': { url: imageUrl },
    '(reasoning.text).text': 'x',
  },
  tried: { ...responsesValues.tried, '.url': 'data:image/png;base64,iVBORw0KGgo*' },
  distinct: { ...responsesValues.distinct, reasoning_effort: responsesValues.distinct['.effort'] },
};

const messagesExceptions: readonly Exception[] = [
  ...common,
  [/^metadata\.user_id$/, 'The provider gets a hash.', ['openai-responses', 'openai-chat', 'anthropic-messages']],
  [/^stop_sequences$/, 'The gateway applies it, and `adapted` names it.', ['openai-responses', 'openai-chat']],
  [/\(image\)\.source\(base64\)\.media_type$/, 'The bytes say it, and `adapted` names it.', ['anthropic-messages']],
  [/^mcp_servers|\((mcp|mcp_toolset)\)/, 'The gateway itself calls the server.'],
];

const image = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };
const messagesValues = {
  beside: {
    '(image).source': image,
    '(image).source(base64)': image,
    '(document).source': { type: 'base64', media_type: 'application/pdf', data: 'JVBE' },
    '(document).source(base64)': { type: 'base64', media_type: 'application/pdf', data: 'JVBE' },
  },
  tried: { '.url': 'https://a.example/*.png', '.input_schema': schemaWithWord, '.schema': schemaWithWord },
  distinct: { ...responsesValues.distinct, '.media_type': ['image/png', 'image/webp'] },
};

const geminiExceptions: readonly Exception[] = [
  ...common.filter(([path]) => path === gatewayFields),
  [/^user$/, 'The provider gets a hash.', ['openai-responses', 'openai-chat', 'anthropic-messages']],
  [/\.thought(Signature)?$/, 'It says something about a part with content.'],
  [/^contents\[\]\.role$/, 'A turn without parts is empty, and `function` is another word for `user`.'],
  [/^systemInstruction\.role$/, 'The provider ignores it.'],
  [/\.fileData\.mimeType$/, 'The address of an image says it.', except('gemini')],
  [/\.inlineData\.mimeType$/, 'The bytes say it, and `adapted` names it.', ['anthropic-messages']],
  [/^tools\[\]\.(codeExecution|urlContext)$/, 'The tool has no settings.', except('gemini')],
  [
    /^generationConfig\.stopSequences$/,
    'The gateway applies it, and `adapted` names it.',
    ['openai-responses', 'openai-chat'],
  ],
];

const geminiValues = {
  beside: {
    '.mimeType': 'image/png',
    '.data': 'iVBORw0KGgo=',
    '.fileUri': 'https://a.example/b.png',
    '.name': 'f',
    '.description': 'F',
    '.responseMimeType': 'application/json',
  },
  tried: {
    '.data': 'iVBORw0KGgo*',
    '.fileUri': 'https://a.example/*.png',
    '.args': { a: '*' },
    '.response': { a: '*' },
    '.parameters': { type: 'OBJECT', properties: { a: { type: 'STRING', description: '*' } } },
    '.responseSchema': { type: 'OBJECT', properties: { a: { type: 'STRING', description: '*' } } },
    '.parametersJsonSchema': schemaWithWord,
    '.responseJsonSchema': schemaWithWord,
  },
  distinct: {
    '.thinkingLevel': ['LOW', 'MEDIUM', 'HIGH'],
    '.mode': ['AUTO', 'ANY', 'NONE'],
    '.mimeType': ['image/png', 'image/webp'],
    '.responseMimeType': ['application/json', 'text/plain'],
    serviceTier: ['flex', 'priority'],
  },
};

export const triedApis: readonly TriedApi[] = [
  {
    id: 'responses',
    pathOf: () => '/responses',
    hello,
    schema: requestSchema,
    values: responsesValues,
    besideSources,
    exceptions: responsesExceptions,
    list: 'input',
    listEarlier: listEarlierItems,
    listChosen: listChosenTools,
  },
  {
    id: 'chat completions',
    pathOf: () => '/chat/completions',
    hello,
    schema: chatSchema,
    values: chatValues,
    exceptions: chatExceptions,
    list: 'messages',
    listEarlier({ role, tool_call_id: id, name }) {
      const call = { name: name ?? 'f', arguments: '{}' };
      if (role === 'tool') return [{ role: 'assistant', tool_calls: [{ id, type: 'function', function: call }] }];
      return role === 'function' ? [{ role: 'assistant', function_call: call }] : [];
    },
    listChosen({ type, function: fn, custom, allowed_tools: allowed }) {
      if (type === 'allowed_tools')
        return (allowed as { tools: Fields[] }).tools.flatMap((tool) => this.listChosen(tool));
      return [type === 'custom' ? { type, custom } : { type: 'function', function: fn ?? { name: 'f' } }];
    },
  },
  {
    id: 'messages',
    pathOf: () => '/messages',
    hello,
    schema: messagesSchema,
    values: messagesValues,
    exceptions: messagesExceptions,
    list: 'messages',
    listEarlier({ content }) {
      const results = Array.isArray(content) ? (content as Fields[]).filter(({ type }) => type === 'tool_result') : [];
      const calls = results.map(({ tool_use_id: id }) => ({ type: 'tool_use', id, name: 'f', input: {} }));
      return calls.length > 0 ? [{ role: 'assistant', content: calls }] : [];
    },
    listChosen: ({ name = 'f' }) => [{ name, input_schema: { type: 'object' } }],
  },
  {
    id: 'gemini',
    pathOf: (model, stream) => `/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    hello: { role: 'user', parts: [{ text: 'hi' }] },
    schema: geminiSchema,
    values: geminiValues,
    exceptions: geminiExceptions,
    list: 'contents',
    listEarlier: ({ parts }) =>
      ((parts ?? []) as Fields[]).flatMap(({ functionResponse: result }) =>
        result ? [{ role: 'model', parts: [{ functionCall: { name: 'f', ...(result as Fields), args: {} } }] }] : [],
      ),
    listChosen: () => [{ functionDeclarations: [{ name: 'f', description: 'F' }] }],
  },
];
