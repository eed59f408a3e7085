import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { requestSchema } from '../../src/requests/responses/schema.ts';
import { recording } from '../../src/testing/scripted-responses.ts';
import { type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { type Trial, tryEveryField, word } from './every-field.ts';
import { columns } from './matrix.ts';

type Fields = Record<string, unknown>;

/* Every field of a request is sent to the provider, or named in the response, or the request is rejected. */

/** Wires of providers without HTTP: the first event of their streams shows what they get. */
const local = ['ai-sdk', 'simulator'];
const wireIds = [...Object.keys(columns), 'simulator'];
const translated = wireIds.filter((wire) => wire !== 'openai-responses');

let gateway: TestGateway;
let upstream: ScriptedUpstream;
beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await testGateway({ providers: wireIds.map(writeProvider) });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

function writeProvider(wire: string): object {
  return {
    id: wire,
    wire,
    ...(wire === 'ai-sdk' && { package: '@ai-sdk/openai' }),
    ...(wire !== 'simulator' && { base_url: upstream.url, api_key: 'sk-1' }),
    models: [{ model: `${wire}/m`, upstream_model: columns[wire] ?? 'echo' }],
  };
}

function answerFor(wire: string): void {
  const name = wire === 'ai-sdk' ? 'openai-responses/recordings/text.stream' : `${wire}/recordings/text.whole`;
  upstream.always(recording(new URL(`../../src/providers/${name}.http`, import.meta.url)));
}

/** Fields that need not reach the provider, each with the reason. */
const exceptions: readonly [path: RegExp, reason: string, wires?: readonly string[]][] = [
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
  [/tools\[\]\(web_search\w*\)\.engine$/, 'Routing has applied it.'],
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

const isException = (wire: string, field: string): boolean =>
  exceptions.some(([path, , wires = wireIds]) => path.test(field) && wires.includes(wire));

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
const values = {
  tried: {
    '.arguments': '{"a":"*"}',
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
    service_tier: ['auto', 'flex', 'priority', 'scale'], // `auto` is `default`, and `fast` is `priority`
    '.effort': ['high', 'medium', 'low', 'minimal', 'none'], // some models have several names for the highest
    include: [['file_search_call.results'], ['code_interpreter_call.outputs'], ['message.output_text.logprobs']],
  },
};

/** Adds what a field needs besides itself. @returns the body, and the path of the field in it */
function complete({ path, bodies }: Trial): { field: string; bodies: Fields[] } {
  const field = path
    .replaceAll(/\([^)]*\)/g, '')
    .replaceAll('[]', '[0]')
    .replaceAll('{}', '.key');
  let before = 0;
  const completed = bodies.map(({ input = 'hi', ...body }) => {
    if (typeof body['tool_choice'] === 'object') body['tools'] = listChosen(body['tool_choice'] as Fields);
    if (!Array.isArray(input)) return { input, ...body };
    const items = [{ role: 'user', content: 'hi' }, ...listEarlier(input[0] as Fields)];
    before = items.length;
    return { ...body, input: [...items, ...input] };
  });
  return { field: field.replace(/^input\[0\]/, `input[${before}]`), bodies: completed };
}

/** Returns the items that an item belongs to. */
function listEarlier({ type, call_id: callId, approval_request_id: id }: Fields): Fields[] {
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

function listChosen({ type, name = 'f', tools, server_label: label }: Fields): Fields[] {
  if (Array.isArray(tools)) return tools.flatMap((tool: Fields) => listChosen(tool));
  if (type === 'mcp') return [{ type, server_label: label, server_url: 'https://a.example/mcp' }];
  return [
    type === 'custom' || type === 'shell' || type === 'apply_patch' ? { type, name } : { type: 'function', name },
  ];
}

interface Outcome {
  status: number;
  /** The message of an error. */
  message: string;
  /** The fields that the response names. */
  named: readonly string[];
  sent: string;
}

async function send(wire: string, path: string, body: Fields): Promise<Outcome> {
  const shown = local.includes(wire) ? { stream: true, debug: { echo_upstream_body: true } } : {};
  const response = await gateway.post(path, { ...body, ...shown, model: `${wire}/m` });
  const text = await response.text();
  const named = (response.headers.get('x-router-dropped-fields') ?? '').split(', ').filter((name) => name !== '');
  if (!response.ok) {
    const { error } = JSON.parse(text) as { error: { message: string } };
    return { status: response.status, message: error.message, named, sent: '' };
  }
  const sent = local.includes(wire) ? readShown(text) : upstream.requests.at(-1)!.text;
  return { status: 200, message: '', named, sent };
}

/** Returns the request in the event of a stream that shows it, without the id of the response. */
const readShown = (text: string): string => /"echo_upstream_body":(.*)$/m.exec(text)?.[1] ?? '';

const contains = (outer: string, inner: string): boolean =>
  inner === outer || inner.startsWith(`${outer}.`) || inner.startsWith(`${outer}[`);

/** Whether a response names a field, an object that contains it, or an entry of it. The cache and the effort are named once. */
const isNamed = (field: string, named: readonly string[]): boolean =>
  named.some((name) => {
    if (contains(name, field) || name === `${field}.key`) return true;
    const [, ofTool] = /^tools\.[\w-]+\.(\w+)$/.exec(name) ?? []; // tools are named by their names
    if (ofTool !== undefined) return field.includes('tools[0]') && field.endsWith(`.${ofTool}`);
    return /^(cache_control|reasoning\.effort)/.test(name) && `.${field}`.includes(`.${name}`);
  });

/** Whether an error names a field, or a field that contains it or that it contains. */
function isBlamed(field: string, message: string): boolean {
  const [name = ''] = message.replace(/^`/, '').split(/[:`]/);
  return contains(name, field) || contains(field, name);
}

/** @returns why a field was lost; undefined: it was not */
async function explainLoss(wire: string, path: string, trial: Trial): Promise<string | undefined> {
  const { field, bodies } = complete(trial);
  const bySent = new Map<string, number>();
  for (const [index, body] of bodies.entries()) {
    const { status, message, named, sent } = await send(wire, path, body);
    if (status === 400 || status === 422) {
      if (!isBlamed(field, message)) return `the error does not name it: ${message.slice(0, 200)}`;
      continue;
    }
    if (status !== 200) return `${status} ${message}`;
    if (isNamed(field, named)) continue;
    if (bodies.length === 1 && !sent.includes(word)) return `lost; named: ${named.join(', ')}`;
    const same = bySent.get(sent);
    if (same !== undefined)
      return `the provider gets the same for values ${same} and ${index}; named: ${named.join(', ')}`;
    bySent.set(sent, index);
  }
  return undefined;
}

it('has no exception for a field that does not exist', () => {
  const paths = [...tryEveryField(requestSchema, { ...values, beside })].map(({ path }) => path);
  const stale = exceptions.filter(([path]) => !paths.some((each) => path.test(each)));
  expect(stale).toEqual([]);
});

describe.each(wireIds)('%s', (wire) => {
  it.each([
    ['each alone', beside, /^/],
    ['beside other sources', besideSources, /\(input_(image|file)\)/],
  ])('loses no field of a request, %s', async (_, others, tried) => {
    answerFor(wire);
    const lost: Fields = {};
    for (const trial of tryEveryField(requestSchema, { ...values, beside: others })) {
      if (!tried.test(trial.path) || isException(wire, trial.path)) continue;
      const reason = await explainLoss(wire, '/responses', trial);
      if (reason !== undefined) lost[trial.path] = reason;
    }
    expect(lost).toEqual({});
  });
});
