import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testKeys } from '../../src/testing/test-gateway.ts';
import { type Lab, openFrames, openLab, stream, wires } from './lab.ts';
import { main } from './manage.ts';

/** 41 characters, which the tokenizer `o200k_base` turns into 34 tokens. */
const chinese = '港口很安静。大多数乘客一路都在睡觉，只有几个人站在栏杆旁，看着小镇的灯光越来越近。';
const tokens = 34;

let lab: Lab;
beforeAll(async () => {
  lab = await openLab();
});
afterAll(() => lab.close());

const isNear = (estimate: number, exact: number): boolean => Math.abs(estimate - exact) <= 0.15 * exact;

/** Sends a request with a key that may spend a millionth of a dollar. @returns the tokens of input that the message names */
async function readReservedInput(input: unknown): Promise<number> {
  const created = await lab.gateway.post(
    '/keys',
    { name: 'limited', limit: 0.000001, workspace_id: main },
    { key: testKeys.managementKey },
  );
  const { key } = (await created.json()) as { key: string };
  const body = { model: 'openai-responses/patient', input, max_output_tokens: 1000 };
  const response = await lab.gateway.post('/responses', body, { key });
  expect(response.status).toBe(402);
  const { error } = (await response.json()) as { error: { message: string } };
  return Number(/about (\d+) tokens? of input and 1000 of output/.exec(error.message)?.[1]);
}

describe('the reservation for a request', () => {
  it('counts Chinese by its script', async () => {
    expect(isNear(await readReservedInput(chinese), tokens)).toBe(true);
    const parts = Array.from({ length: 40 }, () => ({ type: 'input_text', text: chinese }));
    expect(isNear(await readReservedInput([{ type: 'message', role: 'user', content: parts }]), 40 * tokens)).toBe(
      true,
    );
  });

  it('counts no data of images and files as text', async () => {
    const data = `data:image/png;base64,${'iVBORw0K'.repeat(10_000)}`;
    const parts = [
      { type: 'input_text', text: chinese },
      { type: 'input_image', image_url: data },
      { type: 'input_file', filename: 'a.pdf', file_data: data },
    ];
    expect(isNear(await readReservedInput([{ type: 'message', role: 'user', content: parts }]), tokens)).toBe(true);
    const unknown = { type: 'screen_recording', id: 'rec_1', recording: { url: data, note: chinese } };
    const estimate = await readReservedInput([{ type: 'message', role: 'user', content: chinese }, unknown]);
    expect(estimate).toBeGreaterThan(2 * tokens * 0.85);
    expect(estimate).toBeLessThan(4 * tokens);
  });
});

describe.each(wires)('%s: a stream in Chinese that breaks off', (wire) => {
  it('is charged for as many tokens as its text has', async () => {
    lab.upstream.always(stream(wire, openFrames(wire, [...chinese]), { done: false })); // one character per delta
    const { response } = await lab.ask({ wire, mode: 'streamed' }, { body: { input: chinese } });
    const usage = response?.usage as { input_tokens: number; output_tokens: number; cost: number };
    expect(isNear(usage.output_tokens, tokens)).toBe(true);
    expect(isNear(usage.input_tokens, tokens)).toBe(true);
    expect(usage.cost).toBeCloseTo((usage.input_tokens + 2 * usage.output_tokens) / 1e6, 12);
  });

  // theopenco/llmgateway#3546
  it('is charged for at most the output that the request allows', async () => {
    lab.upstream.always(stream(wire, openFrames(wire, [...chinese]), { done: false }));
    const { response } = await lab.ask({ wire, mode: 'streamed' }, { body: { input: chinese, max_output_tokens: 16 } });
    expect((response?.usage as { output_tokens: number }).output_tokens).toBe(16);
  });
});
