import { describe, expect, it } from 'vitest';
import { writeTo } from '../../../tests/wires/write-to.ts';
import type { ResponseRequest } from '../../domain/request.ts';
import type { Target } from '../wire.ts';
import { writeRequest } from './request.ts';

const write = writeTo(writeRequest, { upstreamModel: 'gemini-2.5-flash' });
const configOf = (request: Partial<ResponseRequest>, target?: Partial<Target>) => {
  const { body, dropped } = write(request, target);
  return { ...(body.generationConfig as { thinkingConfig?: object } | undefined), dropped };
};

describe('the path', () => {
  it.each([
    ['gemini-2.5-flash', false, '/models/gemini-2.5-flash:generateContent'],
    ['models/gemini-2.5-flash', true, '/models/gemini-2.5-flash:streamGenerateContent?alt=sse'],
    ['tunedModels/mine-1', false, '/tunedModels/mine-1:generateContent'],
    ['../../secret?x#y', false, '/models/..%2F..%2Fsecret%3Fx%23y:generateContent'],
  ])('of %s', (upstreamModel, stream, path) => {
    expect(write({}, { upstreamModel, stream }).path).toBe(path);
  });
});

describe('settings', () => {
  it('keep their meaning under other names', () => {
    expect(
      configOf({
        max_output_tokens: 9,
        temperature: 1.5,
        top_p: 0.5,
        top_k: 4,
        frequency_penalty: 1,
        presence_penalty: -1,
        top_logprobs: 2,
        modalities: ['text', 'image'],
        text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' } } },
      }),
    ).toEqual({
      maxOutputTokens: 9,
      temperature: 1.5,
      topP: 0.5,
      topK: 4,
      frequencyPenalty: 1,
      presencePenalty: -1,
      responseLogprobs: true,
      logprobs: 2,
      responseModalities: ['TEXT', 'IMAGE'],
      responseMimeType: 'application/json',
      responseJsonSchema: { type: 'object' },
      dropped: [],
    });
    expect(configOf({ text: { format: { type: 'json_object' } } })).toEqual({
      responseMimeType: 'application/json',
      dropped: [],
    });
  });

  it('are named when they have no place', () => {
    const { dropped } = write({
      parallel_tool_calls: false,
      metadata: { a: 'b' },
      service_tier: 'scale',
      top_k: 0,
      include: ['reasoning.encrypted_content', 'file_search_call.results'],
      prompt_cache_key: 'k',
      cache_control: { type: 'ephemeral' },
      text: { verbosity: 'low' },
    });
    expect(dropped.sort()).toEqual([
      'cache_control',
      'include (file_search_call.results)',
      'metadata',
      'parallel_tool_calls',
      'prompt_cache_key',
      'service_tier (scale)',
      'text.verbosity',
      'top_k (0)',
    ]);
    expect(write({ parallel_tool_calls: true, service_tier: 'auto' })).toMatchObject({ dropped: [] });
  });

  it('ask for a tier', () => {
    expect(write({ service_tier: 'flex' }).body.serviceTier).toBe('flex');
    expect(write({ service_tier: 'default' }).body).not.toHaveProperty('serviceTier');
    const without = write({ service_tier: 'priority' }, { dialect: { service_tier: false } });
    expect(without.body).not.toHaveProperty('serviceTier');
    expect(without.dropped).toEqual(['service_tier (priority)']);
  });

  it('describe the requested output', () => {
    const format = { type: 'json_schema' as const, name: 'n', description: 'A day.', schema: { type: 'object' } };
    expect(configOf({ text: { format } })).toMatchObject({
      responseJsonSchema: { description: 'A day.', type: 'object' },
    });
    const named = { ...format, schema: { type: 'object', description: 'nearer', properties: { a: { not: {} } } } };
    expect(configOf({ text: { format: named } }, { dialect: { schema: 'openapi' } })).toMatchObject({
      responseSchema: { description: 'nearer' },
      dropped: ['text.format.description', 'text.format.schema (not)'],
    });
  });

  it('never name the end user', () => {
    const { body } = write({ user: 'ada@example.org', safety_identifier: 'ada@example.org' }, { endUser: 'hg_1' });
    expect(JSON.stringify(body)).not.toContain('ada@');
  });
});
