import { expect, it, onTestFinished } from 'vitest';
import { strictProviders } from '../../src/testing/strict/index.ts';
import { openStrictLab } from './strict-lab.ts';

const call = (id: string, name: string) => ({ functionCall: { id, name, args: {} } });
const result = (id: string | undefined, name: string) => ({
  functionResponse: { ...(id && { id }), name, response: { result: 'sunny' } },
});

/* The automatic function calling of google-genai for Python sends the ids of calls back, but none with the results. */
it.each([
  ['has no id', [call('1', 'a')], [result(undefined, 'a')], 1],
  ['has no id beside one that has', [call('1', 'a'), call('2', 'a')], [result(undefined, 'a'), result('2', 'a')], 2],
  ['is missing', [call('1', 'a'), call('2', 'b')], [result(undefined, 'a')], 2],
])('Gemini gets one result for each call if a result %s', async (_, calls, results, count) => {
  const lab = await openStrictLab(strictProviders.find(({ id }) => id === 'gemini')!);
  onTestFinished(() => lab.close());
  const contents = [
    { role: 'user', parts: [{ text: 'Weather?' }] },
    { role: 'model', parts: calls },
    { role: 'user', parts: results },
  ];
  const functionDeclarations = ['a', 'b'].map((name) => ({ name, description: 'A tool.' }));
  const { status, sent } = await lab.send('gemini', { contents, tools: [{ functionDeclarations }] });
  expect(status).toBe(200);
  const { parts } = (sent as { contents: { parts: object[] }[] }).contents.at(-1)!;
  expect(parts).toHaveLength(count);
  expect(parts.slice(0, results.length)).toEqual(results);
});
