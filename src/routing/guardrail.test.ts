import { describe, expect, it } from 'vitest';
import { endpoint } from '../../tests/routing/call-router.ts';
import { describeModel } from '../catalog/describe-model.ts';
import type { EndpointFacts } from '../domain/endpoint.ts';
import { type GuardrailRules, noRules } from '../domain/guardrail.ts';
import { compileGuardrail } from './guardrail.ts';

const nothingKnown = { findModel: () => undefined };
const make = (rules: Partial<GuardrailRules>) => compileGuardrail('guardrail g', { ...noRules, ...rules });
const codeOf = (rules: Partial<GuardrailRules>, facts: EndpointFacts, catalog: Catalog = nothingKnown) =>
  make(rules)?.exclude(facts, catalog)?.code;
type Catalog = Parameters<NonNullable<ReturnType<typeof compileGuardrail>>['exclude']>[1];

describe('a guardrail', () => {
  it('without rules is undefined', () => {
    expect(make({})).toBeUndefined();
    const zeroRetention = { ...noRules.zeroRetention, openai: false };
    expect(make({ zeroRetention, paidTraining: true, freeTraining: true, freePublication: true })).toBeUndefined();
  });

  it('matches a model by its slug, its variants and its dated slug, in any case', () => {
    const model = describeModel({ id: 'acme/one', canonical_slug: 'acme/one-2026-11-01' });
    const catalog = { findModel: (slug: string) => (slug === 'acme/one' ? model : undefined) };
    for (const entry of ['Acme/One', 'acme/*', 'acme/one-2026-11-01', '*']) {
      expect(codeOf({ allowedModels: [entry] }, endpoint('acme/one@a'), catalog)).toBeUndefined();
      expect(codeOf({ ignoredModels: [entry] }, endpoint('acme/one@a'), catalog)).toBe('allowed_models');
    }
    expect(codeOf({ ignoredModels: ['acme/one'] }, endpoint('acme/one:free@a'))).toBe('allowed_models');
    expect(codeOf({ ignoredModels: ['acme/one:free'] }, endpoint('acme/one@a'))).toBeUndefined();
    expect(codeOf({ allowedModels: ['acme/one'] }, endpoint('acme/one-mini@a'))).toBe('allowed_models');
  });

  it('permits a model that is allowed and not ignored', () => {
    const rules = { allowedModels: ['acme/*'], ignoredModels: ['*-mini'] };
    expect(codeOf(rules, endpoint('acme/one@a'))).toBeUndefined();
    expect(codeOf(rules, endpoint('acme/one-mini@a'))).toBe('allowed_models');
    expect(codeOf(rules, endpoint('other/one@a'))).toBe('allowed_models');
  });

  it.each([
    ['a', 'm@a', true],
    ['A', 'm@a', true],
    ['a', 'm@a/flex', true],
    ['a', 'm@a/us-east', true],
    ['a/us-east', 'm@a/us-east', true],
    ['a/us-east', 'm@a', false],
    ['a/flex', 'm@a/priority', false],
    ['a', 'm@ab', false],
  ])('with the provider %s matches %s: %s, including tiers', (entry, name, isMeant) => {
    const tier = (['flex', 'priority'] as const).find((each) => name.endsWith(each));
    const facts = endpoint(name, { tier });
    expect(codeOf({ ignoredProviders: [entry] }, facts)).toBe(isMeant ? 'allowed_providers' : undefined);
    expect(codeOf({ allowedProviders: [entry] }, facts)).toBe(isMeant ? undefined : 'allowed_providers');
  });

  it.each([
    ['anthropic', 'anthropic/claude@bedrock'],
    ['openai', 'OpenAI/gpt-oss@groq'],
    ['openai', 'gpt-5@openai'],
    ['google', 'google/gemini@google'],
    ['google', 'gemini@google-vertex/us'],
    ['xai', 'x-ai/grok@xai'],
    ['other', 'qwen/qwen@alibaba'],
    ['other', 'llama@ollama'],
    ['other', 'constructor/m@alibaba'],
    ['other', '__proto__/m@alibaba'],
  ] as const)('applies the retention rule of the group %s only to %s', (group, name) => {
    const all = { anthropic: true, openai: true, google: true, xai: true, other: true };
    const facts = endpoint(name);
    expect(codeOf({ zeroRetention: { ...noRules.zeroRetention, [group]: true } }, facts)).toBe('data_policy:zdr');
    expect(codeOf({ zeroRetention: { ...all, [group]: false } }, facts)).toBeUndefined();
    expect(codeOf({ zeroRetention: all }, { ...facts, retainsData: false })).toBeUndefined();
    expect(codeOf({ zeroRetention: all }, { ...facts, retainsData: true })).toBe('data_policy:zdr');
  });

  it('applies paid and free rules to an endpoint without a price', () => {
    const [paid, free, unknown] = [endpoint('m@a', { usd: 1 }), endpoint('m@a', { usd: 0 }), endpoint('m@a')];
    const codes = (rules: Partial<GuardrailRules>) => [paid, free, unknown].map((facts) => codeOf(rules, facts));
    const training = 'data_policy:training';
    expect(codes({ paidTraining: false })).toEqual([training, undefined, training]);
    expect(codes({ freeTraining: false })).toEqual([undefined, training, training]);
    const publication = 'data_policy:publication';
    expect(codes({ freePublication: false })).toEqual([undefined, publication, publication]);
    const kept = { ...free, retainsData: false, trainsOnData: false };
    expect(codeOf({ freePublication: false, freeTraining: false }, kept)).toBeUndefined();
  });
});
