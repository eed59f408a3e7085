import { describe, expect, it } from 'vitest';
import { type Body, endpoint, read, refusal } from '../../../tests/routing/call-router.ts';
import type { ModelReasoning } from '../../domain/endpoint.ts';
import type { Tool } from '../../domain/items.ts';
import type { ReasoningSetting } from '../../domain/request.ts';
import { fitRequest } from './fit-request.ts';

type Facts = Parameters<typeof endpoint>[1];
const settle = (body: Body, facts: Facts, isAlias = false) =>
  fitRequest(read(body), endpoint('acme/one@a', facts), isAlias);
const tools = [{ type: 'function', name: 'f', parameters: null } as Tool];
const format = { type: 'json_schema', name: 'n', schema: {} } as const;

describe('parameters that an endpoint does not support', () => {
  const all: Body = {
    temperature: 1,
    top_p: 0.5,
    top_k: 3,
    frequency_penalty: 1,
    presence_penalty: 1,
    top_logprobs: 2,
    parallel_tool_calls: false,
    reasoning: { effort: 'low' },
    tool_choice: 'required',
    tools,
  };

  it('are left out and named', () => {
    const { request, changed } = settle({ ...all, max_output_tokens: 5 }, { parameters: new Set() });
    expect(changed.toSorted()).toEqual(Object.keys(all).toSorted());
    expect(JSON.parse(JSON.stringify(request))).toEqual({ input: [], max_output_tokens: 5 });
  });

  it('lose their tools if the model must call none and the choice is not supported', () => {
    const { request, changed } = settle({ tools, tool_choice: 'none' }, { parameters: new Set(['tools']) });
    expect(changed).toEqual(['tool_choice', 'tools']);
    expect(request.tools).toEqual([]);
  });

  it.each(Object.keys(all))('%s stays where it is taken', (name) => {
    const { request, changed } = settle(all, { parameters: new Set([name]) });
    expect(changed).not.toContain(name);
    expect(request[name as keyof typeof request]).toBe(all[name as keyof Body]);
  });

  it.each<[Body]>([
    [{ temperature: null, top_p: null }],
    [{ tools: [], tool_choice: 'auto' }],
    [{}],
  ])('%j holds nothing to leave out', (body) => {
    const request = read(body);
    const fitted = fitRequest(request, endpoint('acme/one@a', { parameters: new Set() }), false);
    expect(fitted.request).toBe(request);
    expect(fitted.changed).toEqual([]);
  });

  it('0 and false are values', () => {
    expect(settle({ temperature: 0, parallel_tool_calls: false }, { parameters: new Set() }).changed).toHaveLength(2);
  });

  it('nothing is left out if the supported parameters are unknown', () => {
    const request = read(all);
    expect(fitRequest(request, endpoint('acme/one@a'), false)).toEqual({ request, changed: [] });
  });

  it('the operator’s word counts more than the list', () => {
    const facts = { parameters: new Set(['temperature']), capabilities: { tools: true, reasoning: true } };
    const { changed } = settle({ ...all, temperature: 1 }, facts);
    expect(changed).not.toContain('tools');
    expect(changed).not.toContain('reasoning');
    expect(changed).toContain('top_p');
    expect(settle({ tools }, { parameters: new Set(['tools']), capabilities: { tools: false } }).changed).toEqual([
      'tools',
    ]);
  });

  it('the operator’s word is enough where there is no list', () => {
    const facts = { capabilities: { tools: false, structuredOutputs: false, reasoning: false } };
    const body: Body = { temperature: 1, tools, reasoning: { effort: 'low' }, text: { format } };
    expect(settle(body, facts).changed.toSorted()).toEqual(['reasoning', 'text.format', 'tools']);
  });

  it('a JSON object becomes text', () => {
    const text = { format: { type: 'json_object' } } as const;
    expect(settle({ text }, { parameters: new Set(['structured_outputs']) }).changed).toEqual(['text.format']);
    expect(settle({ text }, { parameters: new Set(['response_format']) }).changed).toEqual([]);
    expect(settle({ text: { format: { type: 'text' } } }, { parameters: new Set() }).changed).toEqual([]);
  });

  it('a schema becomes text, and verbosity goes, each without the other', () => {
    const text = { format, verbosity: 'low' } as const;
    const none = settle({ text }, { parameters: new Set() });
    expect(none.changed.toSorted()).toEqual(['text.format', 'text.verbosity']);
    expect(none.request.text).toEqual({ format: { type: 'text' }, verbosity: null });
    const one = settle({ text }, { parameters: new Set(['verbosity']) });
    expect(one.request.text).toEqual({ format: { type: 'text' }, verbosity: 'low' });
    expect(settle({ text }, { parameters: new Set(['verbosity', 'structured_outputs']) }).changed).toEqual([]);
  });

  it('the request itself is left as it is, for the endpoints after this one', () => {
    const request = read({ ...all, text: { format } });
    const before = structuredClone(request);
    fitRequest(request, endpoint('acme/one@a', { parameters: new Set(), tier: 'flex' }), false);
    expect(request).toEqual(before);
  });
});

describe('the limit of the output', () => {
  const input = [{ type: 'message', role: 'user', content: 'x'.repeat(400) }];
  it.each([
    ['above the maximum of the model', { maxOutputTokens: 4096 }, 32_000, 4096],
    ['above what the input leaves of the context', { contextLength: 2000 }, 2000, 1952],
    ['above both', { contextLength: 2000, maxOutputTokens: 1000 }, 2000, 1000],
    ['of an input that may fill the context', { contextLength: 50 }, 50, 16],
  ] as const)('%s is lowered and named', (_, facts, asked, limit) => {
    const { request, changed } = settle({ input, max_output_tokens: asked } as Body, facts);
    expect(request.max_output_tokens).toBe(limit);
    expect(changed).toEqual([`max_output_tokens (${asked} → ${limit})`]);
  });

  it.each([{ maxOutputTokens: 4096 }, { contextLength: 20_000 }, {}])('stays where %j has the room', (facts) => {
    expect(settle({ input, max_output_tokens: 4096 } as Body, facts).changed).toEqual([]);
    expect(settle({ input } as Body, facts).changed).toEqual([]);
  });
});

describe('the tier', () => {
  it.each<[Body['service_tier'], 'flex' | 'priority' | 'default' | undefined, unknown, string[]]>([
    [undefined, 'flex', 'flex', []],
    ['auto', 'flex', 'flex', []],
    ['flex', 'flex', 'flex', []],
    ['default', 'priority', 'priority', []],
    ['priority', 'priority', 'priority', []],
    [undefined, 'default', undefined, []],
    [null, 'default', null, []],
    ['auto', 'default', 'auto', []],
    ['default', 'default', 'default', []],
    ['flex', 'default', undefined, ['service_tier (flex)']],
    ['priority', 'default', undefined, ['service_tier (priority)']],
    ['scale', 'default', undefined, ['service_tier (scale)']],
    ['flex', undefined, 'flex', []],
    ['scale', undefined, 'scale', []],
  ])('%s at an endpoint of the tier %s is sent as %s', (asked, tier, sent, named) => {
    const body = asked === undefined ? {} : { service_tier: asked };
    const { request, changed } = settle(body, tier === undefined ? {} : { tier });
    expect(request.service_tier).toEqual(sent);
    expect(changed).toEqual(named);
  });
});

describe('reasoning of an alias', () => {
  const reason = (asked: ReasoningSetting, reasoning: ModelReasoning, isAlias = false) =>
    settle({ reasoning: asked }, { reasoning }, isAlias).request.reasoning;
  const mandatory: ModelReasoning = { mandatory: true, supported_efforts: ['high', 'medium', 'low'] };
  const off: ReasoningSetting[] = [{ effort: 'none' }, { enabled: false }, { max_tokens: 0 }];

  it.each(off)('%j on a model that always reasons is a 400', (asked) => {
    expect(refusal(() => reason(asked, mandatory))).toMatchObject({ kind: 'invalid_request', status: 400 });
  });

  it.each(off)('%j on an alias of one becomes its lowest effort, without a budget', (asked) => {
    const { request, changed } = settle({ reasoning: { ...asked, summary: 'auto' } }, { reasoning: mandatory }, true);
    expect(request.reasoning).toEqual({ effort: 'low', summary: 'auto' });
    expect(changed).toEqual(['reasoning.effort']);
    expect(reason(asked, { mandatory: true, supported_efforts: ['none', 'minimal', 'max'] }, true)?.effort).toBe(
      'minimal',
    );
    expect(reason(asked, { mandatory: true }, true)?.effort).toBe('low');
  });

  it.each(off)('%j stays on a model that need not reason', (asked) => {
    expect(reason(asked, { supported_efforts: ['low', 'high'] })).toEqual(asked);
    expect(reason(asked, {}, true)).toEqual(asked);
  });

  it.each([
    ['minimal', 'low'],
    ['low', 'low'],
    ['medium', 'medium'],
    ['high', 'high'],
    ['xhigh', 'high'],
    ['max', 'high'],
  ] as const)('%s becomes the nearest supported effort, %s, on every slug', (asked, expected) => {
    expect(reason({ effort: asked }, mandatory)).toEqual({ effort: expected });
    expect(reason({ effort: asked }, mandatory, true)).toEqual({ effort: expected });
  });

  it('of two as near the lower one', () => {
    expect(reason({ effort: 'medium' }, { supported_efforts: ['low', 'high'] })).toEqual({ effort: 'low' });
  });

  it.each<[ReasoningSetting, ModelReasoning]>([
    [{ effort: 'max' }, {}],
    [{ effort: 'max' }, { supported_efforts: [] }],
    [{ max_tokens: 500 }, mandatory],
    [{ enabled: true }, mandatory],
    [{ summary: 'auto' }, mandatory],
    [{ effort: null }, mandatory],
  ])('%j stays with %j', (asked, reasoning) => {
    const { request, changed } = settle({ reasoning: asked }, { reasoning });
    expect(request.reasoning).toEqual(asked);
    expect(changed).toEqual([]);
  });

  it('is not rejected if the request does not mention it', () => {
    expect(settle({}, { reasoning: mandatory }).changed).toEqual([]);
    expect(settle({ reasoning: null }, { reasoning: mandatory }).changed).toEqual([]);
  });
});
