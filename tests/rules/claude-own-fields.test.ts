import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { strictProviders } from '../../src/testing/strict/index.ts';
import { openStrictLab, type StrictLab } from './strict-lab.ts';

const open = (name: string) => openStrictLab(strictProviders.find(({ id }) => id === name)!);
const asked = { role: 'user', content: 'Hi.' };

describe('what only Anthropic has', () => {
  let own: StrictLab;
  let cloud: StrictLab;
  beforeAll(async () => {
    [own, cloud] = await Promise.all([open('anthropic-opus-5-5'), open('vertex-anthropic')]);
  });
  afterAll(() => Promise.all([own.close(), cloud.close()]));

  it.each([
    { fallbacks: 'default' },
    { speed: 'fast' },
    { inference_geo: 'us' },
  ])('%j reaches it, and no cloud', async (field) => {
    const body = { messages: [asked], ...field };
    const [there, elsewhere] = await Promise.all([own.send('messages', body), cloud.send('messages', body)]);
    expect([there.status, elsewhere.status]).toEqual([200, 200]);
    expect(there.sent).toMatchObject(field);
    const [name] = Object.keys(field);
    expect(elsewhere.sent).not.toHaveProperty(name!);
    expect(elsewhere.headers.get('x-router-dropped-fields')).toBe(name);
  });

  it('changes tools within the conversation', async () => {
    const change = { type: 'tool_addition', tool: { name: 'look', input_schema: { type: 'object', properties: {} } } };
    const fake = own.fake.upstream;
    await own.send('messages', { messages: [asked, { role: 'system', content: [change] }] });
    expect(fake.requests.at(-1)?.body).toMatchObject({ messages: [{}, { role: 'system', content: [change] }] });
  });
});
