import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claudeProviders } from '../../src/testing/strict/providers/anthropic.ts';
import { openStrictLab, type StrictLab } from './strict-lab.ts';

// Bedrock's application inference profiles: anomalyco/opencode#10611, danny-avila/LibreChat#14054
const profile = 'arn:aws:bedrock:us-west-2:1:application-inference-profile/abc';
const newer = claudeProviders.find(({ model }) => model === 'claude-opus-4-7')!;

describe.each([
  ['the slug of the model', { model: 'anthropic/claude-opus-4.7', upstream_model: profile }],
  ['`rules_of`', { model: 'acme/mine', upstream_model: 'deployment-7', rules_of: 'claude-opus-4-7' }],
])('a name that does not say the model has the rules of %s', (_name, entry) => {
  let lab: StrictLab;
  beforeAll(async () => {
    lab = await openStrictLab(newer, { models: [entry] });
  });
  afterAll(() => lab.close());

  it.each([false, true])('streamed: %s', async (stream) => {
    const { status, sent } = await lab.send('chat', {
      model: entry.model,
      messages: [{ role: 'user', content: 'Hi' }],
      reasoning_effort: 'high',
      temperature: 0.5,
      stream,
    });
    expect(status).toBe(200);
    expect(sent).toMatchObject({ model: entry.upstream_model, thinking: { type: 'adaptive' } });
    expect(sent).not.toHaveProperty('temperature');
  });
});
