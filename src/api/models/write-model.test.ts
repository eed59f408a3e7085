import { describe, expect, it } from 'vitest';
import { describeModel } from '../../catalog/describe-model.ts';
import { GatewayError } from '../../domain/errors.ts';
import { bareEndpoint, type Endpoint, type Provider } from '../../providers/provider.ts';
import { Health } from '../../routing/health.ts';
import { describeRow } from '../../routing/model-rows.ts';
import { readStatus, writeEndpoint } from './write-endpoint.ts';
import { writeArchitecture, writeModel, writePricing } from './write-model.ts';

const endpoint = (facts: Partial<Endpoint> = {}): Endpoint => ({
  ...bareEndpoint({ id: 'p', name: 'P' } as Provider, 'a/b', 'b'), // as much of a provider as is written
  ...facts,
});
const bare = describeModel({ id: 'a/b' });
const write = (id: string) => writeModel(describeRow(describeModel({ id }), []));

describe('a model', () => {
  it('without facts has every required field, null or empty', () => {
    expect(write('a/b')).toEqual({
      id: 'a/b',
      canonical_slug: 'a/b',
      name: 'a/b',
      created: 0,
      context_length: null,
      architecture: { modality: null, input_modalities: [], output_modalities: [], instruct_type: null },
      pricing: { prompt: '-1', completion: '-1' },
      top_provider: { context_length: null, max_completion_tokens: null, is_moderated: false },
      per_request_limits: null,
      supported_parameters: [],
      default_parameters: null,
      supported_voices: null,
      links: { details: '/api/v1/models/a/b/endpoints' },
      hugging_face_id: null,
      knowledge_cutoff: null,
      expiration_date: null,
    });
  });

  it.each([
    ['a/b:free', '/api/v1/models/a/b:free/endpoints'],
    ['a/b/c', '/api/v1/models/a/b%2Fc/endpoints'],
    ['~a/b-latest', '/api/v1/models/~a/b-latest/endpoints'],
    ['a b/c?d', '/api/v1/models/a%20b/c%3Fd/endpoints'],
    ['plain', '/api/v1/model/plain'],
  ])('%s links to %s', (id, details) => {
    expect(write(id)['links']).toEqual({ details });
  });

  it('shows the modalities of the interface, in its order', () => {
    expect(writeArchitecture({ input: ['smell', 'file', 'text'], output: ['image', 'text'] })).toMatchObject({
      modality: 'text+file->text+image',
      input_modalities: ['text', 'file'],
      output_modalities: ['text', 'image'],
    });
  });
});

describe('prices', () => {
  it('are exact decimals in USD per token or piece', () => {
    expect(
      writePricing({
        promptNanoUsdPerMillion: 250_000_000,
        completionNanoUsdPerMillion: 1,
        requestNanoUsd: 5_000_000,
        imageNanoUsd: 1_500_000_000,
        webSearchNanoUsd: 10_000_000,
        cacheReadNanoUsdPerMillion: 0,
        cacheWriteNanoUsdPerMillion: 1e9,
        cacheWrite1hNanoUsdPerMillion: 2e9,
        reasoningNanoUsdPerMillion: 3e9,
        audioNanoUsdPerMillion: 4e9,
        imageOutputNanoUsdPerMillion: 5e9,
        above: [{ promptTokens: 200_000, promptNanoUsdPerMillion: 500_000_000, cacheReadNanoUsdPerMillion: 1e9 }],
      }),
    ).toEqual({
      prompt: '0.00000025',
      completion: '0.000000000000001',
      request: '0.005',
      image: '1.5',
      web_search: '0.01',
      input_cache_read: '0',
      input_cache_write: '0.000001',
      input_cache_write_1h: '0.000002',
      internal_reasoning: '0.000003',
      audio: '0.000004',
      image_output: '0.000005',
      overrides: [{ min_prompt_tokens: 200_000, prompt: '0.0000005', input_cache_read: '0.000001' }],
    });
  });

  it('that are unknown are -1, which is not free', () => {
    expect(writePricing(undefined)).toEqual({ prompt: '-1', completion: '-1' });
  });
});

describe('an endpoint', () => {
  it('shows its performance', () => {
    const nowMs = Date.UTC(2026, 0, 1);
    const health = new Health(() => nowMs);
    for (let count = 0; count < 200; count++) {
      const error = count % 10 === 0 ? new GatewayError('upstream_failed', 'No.') : undefined;
      health.record('a/b@p', { atMs: nowMs - 1000, error, firstOutputMs: 100, durationMs: 1000, outputTokens: 50 });
    }
    const all = (value: number) => ({ p50: value, p75: value, p90: value, p99: value });
    expect(writeEndpoint(endpoint(), bare, health)).toMatchObject({
      status: -1,
      uptime_last_5m: 90,
      uptime_last_30m: 90,
      uptime_last_1d: 90,
      latency_last_30m: all(100),
      throughput_last_30m: all(50),
    });
  });

  it.each([
    [undefined, 0],
    [{ isStable: true, uptime: null }, 0],
    [{ isStable: true, uptime: 95 }, 0],
    [{ isStable: true, uptime: 94.9 }, -1],
    [{ isStable: true, uptime: 80 }, -1],
    [{ isStable: true, uptime: 79.9 }, -2],
    [{ isStable: false, uptime: 100 }, -2],
    [{ isStable: false, uptime: null }, -2],
  ])('whose health is %j has the status %i', (view, status) => {
    expect(readStatus(view)).toBe(status);
  });

  it.each([
    [['tools', 'tool_choice'], { auto: true, none: true, required: true, function: true }],
    [['tools'], { auto: true, none: false, required: false, function: false }],
    [[], { auto: false, none: false, required: false, function: false }],
  ])('that takes %j supports the choices %j', (names, expected) => {
    const written = writeEndpoint(endpoint({ parameters: new Set(names) }), bare, new Health());
    expect(written['supports_tool_choice']).toEqual(expected);
  });

  it.each([
    [undefined, null],
    ['fp8', 'fp8'],
    ['q4_k_m', 'unknown'],
  ])('with the quantization %s shows %s', (quantization, expected) => {
    expect(writeEndpoint(endpoint({ quantization }), bare, new Health())['quantization']).toBe(expected);
  });

  it('takes its context from the model, and has 0 if it is unknown', () => {
    const context = (model = bare, facts = {}) => writeEndpoint(endpoint(facts), model, new Health())['context_length'];
    expect(context()).toBe(0);
    expect(context(describeModel({ id: 'a/b', context_length: 5 }))).toBe(5);
    expect(context(describeModel({ id: 'a/b', context_length: 5 }), { contextLength: 4 })).toBe(4);
  });
});
