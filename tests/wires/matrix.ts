import { existsSync, writeFileSync } from 'node:fs';
import { GatewayError } from '../../src/domain/errors.ts';
import type { InputItem } from '../../src/domain/items.ts';
import type { ResponseRequest } from '../../src/domain/request.ts';
import { wires } from '../../src/providers/index.ts';
import { getTextWire } from '../../src/providers/text-wire.ts';
import { writeImagePart } from './image-matrix.ts';

/** The wires except the simulator, each with a model that supports everything in the protocol. */
export const columns: Readonly<Record<string, string>> = {
  'openai-responses': 'gpt-5-mini',
  'openai-chat': 'gpt-5-mini',
  'anthropic-messages': 'claude-sonnet-4-5',
  gemini: 'gemini-3-pro-preview',
  'ai-sdk': 'one',
};

/** A row of the matrix: a request. */
export interface Row {
  name: string;
  request: Partial<ResponseRequest>;
}

/** The result of a row on a wire: sent completely, sent with reported drops or changes, or rejected with a 400. */
export type Fate = { kind: 'sent' } | { kind: 'reported'; names: string[] } | { kind: 'rejected'; path: string };

const user = (content: unknown): InputItem => ({ type: 'message', role: 'user', content }) as InputItem;
const part = (fields: object) => ({ input: [user([fields])] });
const item = (fields: object) => ({ input: [user('a'), fields as InputItem, user('b')] });
const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
const image = 'data:image/png;base64,iVBORw0KGgo=';
const fn = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } } as const;

const said = { type: 'message', role: 'assistant', content: 'c' } as const;
const sealed = (format: string, fields: object) => {
  const thought = { type: 'reasoning', summary: [], format, ...fields } as InputItem;
  return { input: [user('a'), thought, said, user('b')] };
};

export const rows: readonly Row[] = [
  { name: 'text', request: {} },
  {
    name: '`instructions`, developer message',
    request: { instructions: 'Be brief.', ...item({ type: 'message', role: 'developer', content: 'x' }) },
  },
  { name: '`reasoning.effort`', request: { reasoning: { effort: 'high' } } },
  { name: '`reasoning.max_tokens`', request: { reasoning: { max_tokens: 4000 } } },
  { name: '`reasoning.summary`', request: { reasoning: { effort: 'high', summary: 'auto' } } },
  { name: 'function tools', request: { tools: [fn] } },
  { name: '`strict` of a function', request: { tools: [{ ...fn, strict: true }] } },
  { name: 'custom tools', request: { tools: [{ type: 'custom', name: 'sql' }] } },
  {
    name: 'custom tools with a grammar',
    request: {
      tools: [{ type: 'custom', name: 'sql', format: { type: 'grammar', syntax: 'regex', definition: 'a+' } }],
    },
  },
  {
    name: 'groups of tools (`namespace`)',
    request: { tools: [{ type: 'namespace', name: 'crm', description: 'd', tools: [fn] }] },
  },
  { name: 'asynchronous tools (`async`)', request: { tools: [{ ...fn, async: true }] } },
  { name: '`tool_choice: required`', request: { tools: [fn], tool_choice: 'required' } },
  { name: '`tool_choice` of one function', request: { tools: [fn], tool_choice: { type: 'function', name: 'f' } } },
  {
    name: '`allowed_tools`',
    request: {
      tools: [fn],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'f' }] },
    },
  },
  { name: '`parallel_tool_calls: false`', request: { tools: [fn], parallel_tool_calls: false } },
  { name: 'hosted `web_search`', request: { tools: [{ type: 'web_search' }] } },
  {
    name: 'hosted `file_search` in vector stores of the provider',
    request: { tools: [{ type: 'file_search', vector_store_ids: ['v'] }] },
  },
  {
    name: 'hosted `code_interpreter`',
    request: { tools: [{ type: 'code_interpreter', container: { type: 'auto' } }] },
  },
  { name: 'hosted `image_generation`', request: { tools: [{ type: 'image_generation', partial_images: 2 }] } },
  { name: '`modalities` with `image`', request: { modalities: ['text', 'image'] } },
  { name: '`image_config`', request: { image_config: { aspect_ratio: '16:9', image_size: '2K' } } },
  {
    name: 'structured output (`json_schema`)',
    request: { text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' } } } },
  },
  {
    name: '`strict` of a JSON schema',
    request: { text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true } } },
  },
  { name: '`json_object`', request: { text: { format: { type: 'json_object' } } } },
  { name: '`text.verbosity`', request: { text: { verbosity: 'low' } } },
  { name: 'image by data URL', request: part({ type: 'input_image', image_url: image }) },
  { name: 'image by URL', request: part({ type: 'input_image', image_url: 'https://a.example/b.png' }) },
  { name: 'image by file id', request: part({ type: 'input_image', file_id: 'file-1' }) },
  {
    name: 'PDF by data URL',
    request: part({ type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' }),
  },
  { name: 'file by URL', request: part({ type: 'input_file', file_url: 'https://a.example/b.pdf' }) },
  {
    name: 'file by data URL, with a URL and a file id beside it',
    request: part({
      type: 'input_file',
      file_data: 'data:application/pdf;base64,JVBE',
      file_url: 'https://a.example/b.pdf',
      file_id: 'file-1',
    }),
  },
  { name: 'audio', request: part({ type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }) },
  { name: 'video', request: part({ type: 'input_video', video_url: 'https://a.example/b.mp4' }) },
  {
    name: 'replay: assistant text',
    request: item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'x' }] }),
  },
  {
    name: 'replay: refusal',
    request: item({ type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'x' }] }),
  },
  {
    name: 'replay: function call and output',
    request: { input: [user('a'), call as InputItem, { type: 'function_call_output', call_id: 'c', output: 'x' }] },
  },
  {
    name: 'replay: custom call and output',
    request: {
      input: [
        user('a'),
        { type: 'custom_tool_call', call_id: 'c', name: 'sql', input: 'x' },
        { type: 'custom_tool_call_output', call_id: 'c', output: 'x' },
      ],
    },
  },
  {
    name: 'replay: output of 100,000 characters',
    request: {
      input: [
        user('a'),
        call as InputItem,
        { type: 'function_call_output', call_id: 'c', output: 'x'.repeat(100_000) },
      ],
    },
  },
  {
    name: 'replay: output with an image',
    request: {
      input: [
        user('a'),
        call as InputItem,
        { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_image', image_url: image }] },
      ],
    },
  },
  { name: 'replay: reasoning of OpenAI', request: sealed('openai-responses-v1', { encrypted_content: 'g' }) },
  {
    name: 'replay: reasoning of Anthropic',
    request: sealed('anthropic-claude-v1', { content: [{ type: 'reasoning_text', text: 'x' }], signature: 'E' }),
  },
  { name: 'replay: reasoning of Google', request: sealed('google-gemini-v1', { encrypted_content: 'C' }) },
  {
    name: 'replay: reasoning as text only',
    request: item({ type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'x' }] }),
  },
  {
    name: 'replay: generated image',
    request: item({ type: 'image_generation_call', id: 'i', result: 'iVBORw0KGgo=' }),
  },
  { name: 'replay: web search', request: item({ type: 'web_search_call', id: 'w', status: 'completed' }) },
  { name: 'replay: compaction', request: item({ type: 'compaction', encrypted_content: 'x' }) },
  {
    name: 'replay: message between agents',
    request: item({ type: 'agent_message', author: 'a', recipient: 'b', content: [{ type: 'input_text', text: 'x' }] }),
  },
  {
    name: 'tools announced later (`additional_tools`)',
    request: item({ type: 'additional_tools', role: 'developer', tools: [fn] }),
  },
  { name: '`configuration_update`', request: item({ type: 'configuration_update', reasoning: { effort: 'low' } }) },
  { name: 'replay: shell, patch and computer calls', request: item({ type: 'shell_call', id: 'm' }) },
  { name: 'items of unknown kinds', request: item({ type: 'quantum_call', id: 'q' }) },
  { name: 'content parts of unknown kinds', request: part({ type: 'input_hologram' }) },
  { name: '`max_output_tokens`, `temperature`', request: { max_output_tokens: 5000, temperature: 0.5 } },
  { name: '`top_p`', request: { top_p: 0.5 } },
  { name: '`top_k`', request: { top_k: 5 } },
  { name: '`frequency_penalty`, `presence_penalty`', request: { frequency_penalty: 1, presence_penalty: 1 } },
  { name: '`top_logprobs`', request: { top_logprobs: 2 } },
  {
    name: 'cache breakpoints of parts',
    request: part({ type: 'input_text', text: 'x', cache_control: { type: 'ephemeral' } }),
  },
  {
    name: 'cache breakpoints of functions',
    request: {
      tools: [{ type: 'function', name: 'f', parameters: { type: 'object' }, cache_control: { type: 'ephemeral' } }],
    },
  },
  {
    name: 'lifetime (`ttl`) of cache breakpoints',
    request: part({ type: 'input_text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }),
  },
  { name: '`prompt_cache_key`', request: { prompt_cache_key: 'k' } },
  { name: '`metadata`', request: { metadata: { a: 'b' } } },
  { name: '`service_tier`', request: { service_tier: 'priority' } },
  { name: '`user`, `safety_identifier`', request: { user: 'ada', safety_identifier: 'ada' } },
  { name: '`prompt` template', request: { prompt: { id: 'pmpt_1' } } },
];

/** Runs the wire on a row. */
export function findFate(wireId: string, { request }: Row): Fate {
  const target = {
    endpoint: 'm at P',
    upstreamModel: columns[wireId]!,
    stream: true,
    dialect: {},
    endUser: 'hg_hash',
  };
  try {
    // A copy, because a wire may change it.
    const { dropped } = getTextWire(wires.get(wireId)!).writeRequest(
      structuredClone({ input: [user('a')], ...request }),
      target,
    );
    return dropped.length === 0 ? { kind: 'sent' } : { kind: 'reported', names: dropped };
  } catch (error) {
    if (error instanceof GatewayError && error.kind === 'invalid_request') {
      return { kind: 'rejected', path: error.message.split(':')[0]! };
    }
    throw error;
  }
}

/** Features of responses, each with the recording of each wire that shows it. `–`: not in the protocol. */
export const answers: readonly { name: string; recordings: Readonly<Record<string, string>> }[] = [
  {
    name: 'text',
    recordings: {
      'openai-responses': 'text',
      'openai-chat': 'text',
      'anthropic-messages': 'text',
      gemini: 'text',
      'ai-sdk': 'text',
    },
  },
  {
    name: 'reasoning as text',
    recordings: {
      'openai-responses': 'reasoning-text',
      'openai-chat': 'reasoning',
      'anthropic-messages': 'thinking',
    },
  },
  {
    name: 'summaries of reasoning',
    recordings: {
      'openai-responses': 'reasoning-summary',
      'openai-chat': 'reasoning-details',
      'anthropic-messages': 'thinking',
      gemini: 'thoughts',
      'ai-sdk': 'reasoning',
    },
  },
  {
    name: 'encrypted or signed reasoning',
    recordings: {
      'openai-responses': 'reasoning-summary',
      'openai-chat': 'reasoning-encrypted',
      'anthropic-messages': 'redacted-thinking',
      gemini: 'tool-call-signed',
      'ai-sdk': 'redacted-reasoning',
    },
  },
  {
    name: 'parallel calls, in fragments',
    recordings: {
      'openai-responses': 'parallel-calls',
      'openai-chat': 'parallel-tool-calls',
      'anthropic-messages': 'parallel-tool-calls',
      gemini: 'parallel-tool-calls',
      'ai-sdk': 'parallel-tool-calls',
    },
  },
  {
    name: 'custom tool call',
    recordings: {
      'openai-responses': 'custom-tool',
      'openai-chat': 'custom-tool',
      'anthropic-messages': 'custom-tool',
      gemini: 'custom-tool',
      'ai-sdk': 'custom-tool',
    },
  },
  {
    name: 'structured output',
    recordings: {
      'openai-responses': 'structured-output',
      'openai-chat': 'structured-output',
      'anthropic-messages': 'structured-output',
      gemini: 'structured-output',
      'ai-sdk': 'structured-output',
    },
  },
  {
    name: 'refusal as a part',
    recordings: {
      'openai-responses': 'refusal',
      'openai-chat': 'refusal',
      'anthropic-messages': 'refusal-explained',
    },
  },
  {
    name: 'truncated by the output limit',
    recordings: {
      'openai-responses': 'length',
      'openai-chat': 'length',
      'anthropic-messages': 'length',
      gemini: 'length',
      'ai-sdk': 'length',
    },
  },
  {
    name: 'content filter',
    recordings: {
      'openai-responses': 'content-filter',
      'openai-chat': 'content-filter',
      'anthropic-messages': 'refusal',
      gemini: 'safety',
      'ai-sdk': 'content-filter',
    },
  },
  {
    name: 'citations',
    recordings: {
      'openai-responses': 'web-search',
      'openai-chat': 'citations',
      'anthropic-messages': 'citations',
      gemini: 'grounding',
      'ai-sdk': 'citations',
    },
  },
  {
    name: 'search at the provider',
    recordings: { 'openai-responses': 'web-search', 'anthropic-messages': 'web-search', gemini: 'grounding' },
  },
  {
    name: 'image',
    recordings: {
      'openai-responses': 'image-generation',
      'openai-chat': 'image',
      gemini: 'image',
      'ai-sdk': 'image-out',
    },
  },
  {
    name: 'partial images (`partial_image`)',
    recordings: { 'openai-responses': 'image-generation', gemini: 'image-tries' },
  },
  {
    name: 'log probabilities',
    recordings: { 'openai-responses': 'text-logprobs', 'openai-chat': 'logprobs', gemini: 'logprobs' },
  },
  {
    name: 'cache usage',
    recordings: {
      'openai-responses': 'text',
      'openai-chat': 'usage-cache-hit',
      'anthropic-messages': 'cache-usage',
      gemini: 'cache-usage',
      'ai-sdk': 'cache-usage',
    },
  },
  {
    name: 'unknown kinds',
    recordings: {
      'openai-responses': 'unknown-kinds',
      'openai-chat': 'content-parts',
      'anthropic-messages': 'unknown-blocks',
      gemini: 'unknown-parts',
      'ai-sdk': 'unknown-parts',
    },
  },
];

/** Whether both recordings exist, streamed and whole. The contract suite and the gateway tests run both. */
export const hasRecording = (wireId: string, name: string): boolean =>
  ['stream', 'whole'].every((kind) =>
    existsSync(new URL(`../../src/providers/${wireId}/recordings/${name}.${kind}.http`, import.meta.url)),
  );

function showFate(fate: Fate): string {
  if (fate.kind === 'sent') return 'yes';
  return fate.kind === 'rejected' ? '400' : `reported: ${fate.names.map((name) => `\`${name}\``).join(', ')}`;
}

/** `docs/reference/wires.md`. */
export function writePage(): string {
  const names = Object.keys(columns);
  const head = (first: string) =>
    `| ${first} | ${names.map((name) => `\`${name}\``).join(' | ')} |\n|---|${'---|'.repeat(names.length)}`;
  const up = rows.map((row) => `| ${row.name} | ${names.map((wire) => showFate(findFate(wire, row))).join(' | ')} |`);
  const down = answers.map(({ name, recordings }) => {
    const cells = names.map((wire) => (recordings[wire] ? `\`${recordings[wire]}\`` : '–'));
    return `| ${name} | ${cells.join(' | ')} |`;
  });
  return `# Wires

<!-- Written by tests/wires/matrix.ts (npm run docs); a test compares it with what the wires do. -->

This page shows how each wire handles the features of a request, with its default dialect and a reasoning
model.

- *yes*: the wire sends it completely.
- *reported*: the wire drops or changes the fields that \`router_metadata.params.dropped_fields\` names.
- *400*: the wire rejects it and names the field and the endpoint, because dropping it would change the
  meaning of the request. Another endpoint of the model may support it.

The gateway runs many [hosted tools](tools.md#hosted-tools) itself where the wire has none. The rows below show
what happens if it cannot.

## Requests

${head('Feature')}
${up.join('\n')}

## Responses

Each cell is the name of the recording that shows the feature. Tests read each recording streamed and
whole, in pieces of every size, and through the running gateway. *–*: not in the protocol.

${head('Feature')}
${down.join('\n')}

Generated audio has no place in the interface. \`dropped_upstream_fields\` names it.

${writeImagePart()}`;
}

export const pageUrl = new URL('../../docs/reference/wires.md', import.meta.url);
if (import.meta.main) writeFileSync(pageUrl, writePage());
