import { expect } from 'vitest';
import type { Client } from './client.ts';

/** Two equal providers, and one without a server. */
export const memoryProviders = [
  ...['one', 'two'].map((id) => ({ id, wire: 'simulator', models: [{ model: 'twin/m', upstream_model: 'echo' }] })),
  { id: 'down', wire: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', models: [{ model: 'down/m' }] },
  { id: 'simulator', wire: 'simulator', models: [{ model: 'simulator/*' }] },
];

/** Expects that `far` knows the outages and the session routes of `near`. @param far clients of other processes */
export async function expectOneMemory(near: Client, far: readonly Client[]): Promise<void> {
  const askTwin = async (client: Client, session: number) => {
    const body = { model: 'twin/m', input: 'hi', session_id: `session ${session}` };
    const answer = await client('POST', '/api/v1/responses', { body });
    expect(answer.status).toBe(200);
    const found = await client('GET', `/api/v1/generation?id=${answer.id}`);
    return (JSON.parse(found.body) as { data: { provider_name: string } }).data.provider_name;
  };
  const statusOfDown = async (client: Client) => {
    const { body } = await client('GET', '/api/v1/models/down/m/endpoints');
    return (JSON.parse(body) as { data: { endpoints: { status: number }[] } }).data.endpoints[0]!.status;
  };
  const sessions = Array.from({ length: 10 }, (_, at) => at);
  const providers: string[] = [];
  for (const session of sessions) providers.push(await askTwin(near, session));
  for (const client of far) expect(await statusOfDown(client)).toBe(0);

  for (let count = 0; count < 3; count++) {
    const answer = await near('POST', '/api/v1/responses', { body: { model: 'down/m', input: 'hi' } });
    expect(answer.status).toBe(502);
  }
  for (const client of far) await expect.poll(() => statusOfDown(client)).toBe(-2);
  // Earlier notifications have arrived, too.
  for (const client of far) {
    for (const session of sessions) expect(await askTwin(client, session)).toBe(providers[session]);
  }
}
