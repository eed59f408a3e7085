import { Agent, request } from 'node:http';
import { testKeys } from '../../src/testing/index.ts';

const agents: Agent[] = [];

/** Closes all connections. For `afterEach`. */
export function hangUp(): void {
  for (const agent of agents.splice(0)) agent.destroy();
}

/** A response, read to its end. */
export interface Answer {
  status: number;
  id: string;
  body: string;
}
/** Creates a client with one connection, which stays with one worker. */
export function connect({ url }: { url: string }) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agents.push(agent);
  return (method: string, path: string, { key = testKeys.key, body }: { key?: string; body?: object } = {}) =>
    new Promise<Answer>((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const sent = request(url + path, { agent, method, headers }, async (response) => {
        try {
          let text = '';
          for await (const piece of response.setEncoding('utf8')) text += piece;
          const id = String(response.headers['x-generation-id']);
          resolve({ status: response.statusCode ?? 0, id, body: text });
        } catch (error) {
          reject(error);
        }
      });
      sent.on('error', reject);
      sent.end(body && JSON.stringify(body));
    });
}
export type Client = ReturnType<typeof connect>;

/** Requests a buffered response of the simulator. */
export const ask = (client: Client, key?: string) =>
  client('POST', '/api/v1/responses', { key, body: { model: 'simulator/echo', input: 'hi' } });
export const idsOf = (answers: readonly Answer[]): string[] => answers.map(({ id }) => id).sort();
export const statusesOf = (answers: readonly Answer[]): number[] => [...new Set(answers.map(({ status }) => status))];

/** `GET /metrics`: metric with labels → value. */
export async function readNumbers(client: Client): Promise<Map<string, number>> {
  const { body } = await client('GET', '/metrics');
  const lines = body.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}
