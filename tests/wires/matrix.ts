import { existsSync, writeFileSync } from 'node:fs';
import { GatewayError } from '../../src/domain/errors.ts';
import type { InputItem } from '../../src/domain/items.ts';
import type { ResponseRequest } from '../../src/domain/request.ts';
import { wires } from '../../src/providers/index.ts';
import { writeImagePart } from './image-matrix.ts';

/** The wires but for the simulator, each with a model that can do what the protocol can. */
export const columns: Readonly<Record<string, string>> = {
  'openai-responses': 'gpt-5-mini',
  'openai-chat': 'gpt-5-mini',
  'anthropic-messages': 'claude-sonnet-4-5',
  gemini: 'gemini-3-pro-preview',
  'ai-sdk': 'one',
};

/** A line of the matrix: what a caller sends, and what the wire makes of it. */
export interface Row {
  name: string;
  request: Partial<ResponseRequest>;
}

/** What becomes of a row on a wire: carried whole, with something named as left out or changed, or refused with a 400. */
export type Fate = { kind: 'carried' } | { kind: 'named'; names: string[] } | { kind: 'refused'; path: string };

const user = (content: unknown): InputItem => ({ type: 'message', role: 'user', content }) as InputItem;
const part = (fields: object) => ({ input: [user([fields])] });
const item = (fields: object) => ({ input: [user('a'), fields as InputItem, user('b')] });
const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
const image = 'data:image/png;base64,iVBORw0KGgo=';
const fn = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } } as const;

const sealed = (format: string, fields: object) => item({ type: 'reasoning', summary: [], format, ...fields });

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
    name: 'hosted `file_search`, `code_interpreter`, `mcp`',
    request: { tools: [{ type: 'file_search', vector_store_ids: ['v'] }] },
  },
  { name: 'hosted `image_generation`', request: { tools: [{ type: 'image_generation', partial_images: 2 }] } },
  { name: '`modalities` with `image`', request: { modalities: ['text', 'image'] } },
  { name: '`image_config`', request: { image_config: { aspect_ratio: '16:9', image_size: '2K' } } },
  {
    name: 'structured output (`json_schema`)',
    request: { text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' } } } },
  },
  { name: '`json_object`', request: { text: { format: { type: 'json_object' } } } },
  { name: '`text.verbosity`', request: { text: { verbosity: 'low' } } },
  { name: 'image by data URL', request: part({ type: 'input_image', image_url: image }) },
  { name: 'image by address', request: part({ type: 'input_image', image_url: 'https://a.example/b.png' }) },
  { name: 'image by file id', request: part({ type: 'input_image', file_id: 'file-1' }) },
  {
    name: 'PDF by data URL',
    request: part({ type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' }),
  },
  { name: 'file by address', request: part({ type: 'input_file', file_url: 'https://a.example/b.pdf' }) },
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
    name: 'replay: reasoning in words alone',
    request: item({ type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'x' }] }),
  },
  {
    name: 'replay: image made before',
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
  { name: 'replay: shell, patch, MCP and computer calls', request: item({ type: 'mcp_call', id: 'm' }) },
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
  { name: '`prompt_cache_key`', request: { prompt_cache_key: 'k' } },
  { name: '`metadata`', request: { metadata: { a: 'b' } } },
  { name: '`service_tier`', request: { service_tier: 'priority' } },
  { name: '`user`, `safety_identifier`', request: { user: 'ada', safety_identifier: 'ada' } },
  { name: '`prompt` template', request: { prompt: { id: 'pmpt_1' } } },
];

/** What becomes of a row on a wire, found by asking the wire. */
export function findFate(wireId: string, { request }: Row): Fate {
  const target = {
    endpoint: 'm at P',
    upstreamModel: columns[wireId]!,
    stream: true,
    dialect: {},
    endUser: 'hg_hash',
  };
  try {
    // A copy: a wire may change what it was given.
    const { dropped } = wires.get(wireId)!.writeRequest(structuredClone({ input: [user('a')], ...request }), target);
    return dropped.length === 0 ? { kind: 'carried' } : { kind: 'named', names: dropped };
  } catch (error) {
    if (error instanceof GatewayError && error.kind === 'invalid_request') {
      return { kind: 'refused', path: error.message.split(':')[0]! };
    }
    throw error;
  }
}

/** What comes back, and the recording of each wire that shows it; `–`: the protocol has no such thing. */
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
    name: 'reasoning in words',
    recordings: {
      'openai-responses': 'reasoning-text',
      'openai-chat': 'reasoning',
      'anthropic-messages': 'thinking',
      gemini: 'thoughts',
      'ai-sdk': 'reasoning',
    },
  },
  {
    name: 'reasoning that is sealed',
    recordings: {
      'openai-responses': 'reasoning-summary',
      'openai-chat': 'reasoning-encrypted',
      'anthropic-messages': 'redacted-thinking',
      gemini: 'tool-call-signed',
      'ai-sdk': 'redacted-reasoning',
    },
  },
  {
    name: 'parallel calls, in pieces',
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
  { name: 'refusal as a part', recordings: { 'openai-responses': 'refusal', 'openai-chat': 'refusal' } },
  {
    name: 'cut by the output limit',
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
    name: 'pictures on the way to one (`partial_image`)',
    recordings: { 'openai-responses': 'image-generation', gemini: 'image-tries' },
  },
  {
    name: 'log probabilities',
    recordings: { 'openai-responses': 'text-logprobs', 'openai-chat': 'logprobs', gemini: 'logprobs' },
  },
  {
    name: 'usage of the cache',
    recordings: {
      'openai-responses': 'text',
      'openai-chat': 'usage-cache-hit',
      'anthropic-messages': 'cache-usage',
      gemini: 'cache-usage',
      'ai-sdk': 'cache-usage',
    },
  },
  {
    name: 'kinds that nobody knows',
    recordings: {
      'openai-responses': 'unknown-kinds',
      'openai-chat': 'content-parts',
      'anthropic-messages': 'unknown-blocks',
      gemini: 'unknown-parts',
      'ai-sdk': 'unknown-parts',
    },
  },
];

/** Is there a recording, streamed and whole? Both are run by the contract suite and through the front door. */
export const hasRecording = (wireId: string, name: string): boolean =>
  ['stream', 'whole'].every((kind) =>
    existsSync(new URL(`../../src/providers/${wireId}/recordings/${name}.${kind}.http`, import.meta.url)),
  );

function showFate(fate: Fate): string {
  if (fate.kind === 'carried') return 'yes';
  return fate.kind === 'refused' ? '400' : `named: ${fate.names.map((name) => `\`${name}\``).join(', ')}`;
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

What each wire makes of what a caller may send, with the default dialect and a model that thinks. *yes*: carried whole. *named*: carried, but
for what \`router_metadata.params.dropped_fields\` then names. *400*: refused, naming field and endpoint, since leaving it out would change
what the request means; another endpoint of the model may take it.

## What goes up

${head('Sent')}
${up.join('\n')}

## What comes back

The recording that shows it, beside the wire. Each is read streamed and whole, in pieces of every size, and through the running gateway.
*–*: the protocol has no such thing.

${head('Came')}
${down.join('\n')}

Audio that a model makes has no place in the interface: it is named in \`dropped_upstream_fields\`.

${writeImagePart()}`;
}

export const pageUrl = new URL('../../docs/reference/wires.md', import.meta.url);
if (import.meta.main) writeFileSync(pageUrl, writePage());
