import { expect } from 'vitest';
import { NATIVE_FIELD } from '../../../domain/native.ts';
import type { RuleCase } from './case.ts';
import { sampleItems } from './sample-items.ts';

const { user, said } = sampleItems;
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' }) as const;
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'x' }) as const;
const tool = (name: string) => ({ type: 'function', name, parameters: { type: 'object', properties: {} } }) as const;
const named = { tools: [{ functionDeclarations: [{ name: expect.stringMatching(/^[a-z_][\w-]*$/) }] }] };
const stop = ['a', 'b', 'c', 'd', 'e', 'f'];

export const geminiCases: RuleCase[] = [
  { rules: 'gemini/names', request: { tools: [tool('21st_magic')] }, body: named },
  { rules: 'gemini/names-letters', request: { tools: [tool(`n${'a'.repeat(80)}`)] }, body: named },
  {
    rules: 'gemini/references',
    request: {
      tools: [
        {
          type: 'function',
          name: 'f',
          parameters: {
            type: 'object',
            properties: {
              headers: { type: 'object' },
              actions: { type: 'array', items: { $ref: '#/properties/headers' } },
              node: { $ref: '#/definitions/Node', title: 'Node', type: 'object', description: 'The first.' },
              few: { $ref: '#/$defs/List', maxItems: 2 },
              lost: { $ref: '#/$defs/Lost', description: 'Gone.' },
            },
            $defs: { List: { type: 'array', items: { type: 'string' } } },
            definitions: { Node: { type: 'object', properties: { next: { $ref: '#/definitions/Node' } } } },
          },
        },
      ],
    },
    body: {
      tools: [
        {
          functionDeclarations: [
            {
              parametersJsonSchema: {
                type: 'object',
                properties: {
                  headers: { type: 'object' },
                  actions: { type: 'array', items: { $ref: '#/$defs/headers' } },
                  node: { $ref: '#/$defs/Node', description: 'The first.' },
                  few: { $ref: '#/$defs/List', description: '(maxItems: 2)' },
                  lost: { description: 'Gone.' },
                },
                $defs: {
                  List: { type: 'array' },
                  Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' } } },
                  headers: { type: 'object' },
                },
              },
            },
          ],
        },
      ],
    },
  },
  {
    rules: 'gemini/references',
    request: {
      text: {
        format: {
          type: 'json_schema',
          name: 'f',
          schema: {
            type: 'object',
            properties: { a: { $ref: '#/$defs/A', title: 'A' }, self: { $ref: '#' } },
            $defs: { A: { type: 'string' } },
          },
        },
      },
    },
    body: {
      generationConfig: {
        responseJsonSchema: {
          properties: { a: { $ref: '#/$defs/A' }, self: { $ref: '#/$defs/root' } },
          $defs: { root: { properties: { self: { $ref: '#/$defs/root' } } } },
        },
      },
    },
  },
  {
    rules: 'gemini/first-turn',
    request: { input: [call('a'), output('a')] },
    body: { contents: [{ role: 'user' }, { role: 'model' }, { role: 'user' }] },
  },
  {
    rules: 'gemini/results',
    request: { input: [user, call('a'), call('b'), output('a'), user] },
    body: {
      contents: [
        {},
        {},
        { parts: [{ functionResponse: { id: 'a' } }, { functionResponse: { id: 'b' } }, { text: 'Hi' }] },
      ],
    },
  },
  { rules: 'gemini/last-turn', request: { input: [user, said] }, body: { contents: [{}, {}, { role: 'user' }] } },
  { rules: 'gemini/stops', request: { stop }, body: { generationConfig: { stopSequences: stop.slice(0, 5) } } },
  {
    rules: 'gemini/output',
    request: { max_output_tokens: 100_000 },
    body: { generationConfig: { maxOutputTokens: 65_536 } },
  },
  {
    rules: 'gemini-2/format',
    request: { tools: [tool('f')], text: { format: { type: 'json_object' } } },
    body: { systemInstruction: { parts: [{ text: expect.stringContaining('JSON') }] } },
    without: ['generationConfig'],
    dropped: ['text.format'],
  },
  {
    rules: 'gemini-2/search',
    request: { tools: [tool('f'), { type: 'web_search' }] },
    body: { tools: [{ functionDeclarations: [{ name: 'f' }] }] },
    dropped: ['tools (web_search'],
  },
  {
    rules: 'vertex-gemini/tier',
    request: { service_tier: 'flex' },
    headers: { 'x-vertex-ai-llm-shared-request-type': 'flex' },
    without: ['serviceTier'],
  },
  {
    rules: 'gemini-2-5/penalties',
    request: { frequency_penalty: 1, presence_penalty: 1 },
    without: ['generationConfig'],
  },
  {
    rules: 'gemma/system',
    request: { instructions: 'Be brief.' },
    body: { contents: [{ role: 'user', parts: [{ text: 'Be brief.' }, { text: 'Hi' }] }] },
    without: ['systemInstruction'],
  },
  { rules: 'gemma/functions', request: { tools: [tool('f')] }, error: /has no function tools/ },
  {
    rules: 'gemini-chat/fields',
    request: { frequency_penalty: 1, seed: 1, prompt_cache_key: 'k', text: { verbosity: 'low' } },
    without: ['frequency_penalty', 'seed', 'prompt_cache_key', 'verbosity'],
  },
  {
    rules: 'gemini-chat/nullable',
    request: {
      tools: [
        {
          type: 'function',
          name: 'f',
          parameters: {
            type: 'object',
            properties: {
              a: { description: 'A.', type: ['number', 'null'], default: null },
              b: { type: ['string', 'null'], enum: ['x', null] },
              c: {
                title: 'C',
                anyOf: [
                  { type: 'array', items: { type: 'string' } },
                  { type: 'null', title: 'None' },
                ],
              },
              d: { type: ['string', 'number'] },
            },
          },
        },
      ],
    },
    body: {
      tools: [
        {
          function: {
            parameters: {
              type: 'object',
              properties: {
                a: { description: 'A.', type: 'number', nullable: true },
                b: { type: 'string', nullable: true, enum: ['x'] },
                c: { title: 'C', type: 'array', items: { type: 'string' }, nullable: true },
                d: { anyOf: [{ type: 'string' }, { type: 'number' }] },
              },
            },
          },
        },
      ],
    },
  },
  {
    rules: 'gemini-chat/own-fields',
    request: {
      native: { format: 'openai-chat', fields: {}, betas: [], replaces: {}, tools: {}, version: undefined },
      tools: [
        { type: 'function', name: 'f', parameters: null, [NATIVE_FIELD]: { copilot_mcp_server_name: 'docs' } } as never,
      ],
    },
    dropped: ['tools.f.copilot_mcp_server_name'],
  },
  {
    rules: 'vertex-chat/text-or-calls',
    request: { input: [user, said, call('a'), output('a')] },
    body: { messages: [{}, { content: 'It is' }, { tool_calls: [{}] }, {}] },
  },
  {
    rules: 'gemini-chat/names',
    request: { tools: [{ type: 'function', name: '1st', parameters: { type: 'object', properties: {} } }] },
    body: { tools: [{ function: { name: expect.stringMatching(/^[a-z]\w+$/) } }] },
  },
  {
    rules: 'gemini-chat/signatures',
    request: {
      input: [
        { type: 'message', role: 'user', content: 'Hi' },
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [],
          encrypted_content: 'c2lnbg==',
          format: 'google-gemini-v1',
        } as never,
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'x' },
      ],
    },
    body: { messages: [{}, { tool_calls: [{ extra_content: { google: { thought_signature: 'c2lnbg==' } } }] }, {}] },
  },
  {
    rules: 'gemini-chat/result-names',
    request: {
      input: [
        { type: 'message', role: 'user', content: 'Hi' },
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'x' },
      ],
    },
    body: { messages: [{}, {}, { role: 'tool', tool_call_id: 'a', name: 'f' }] },
  },
  {
    rules: 'gemini-chat/files',
    request: {
      input: [
        {
          type: 'message',
          role: 'user',
          content: [{ type: 'input_file', filename: 'a.txt', file_data: 'data:text/plain;base64,SGk=' }],
        },
      ],
    },
    body: { messages: [{ content: 'File a.txt:\nHi' }] },
  },
];
