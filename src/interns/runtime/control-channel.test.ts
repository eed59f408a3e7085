import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Sandbox } from '../../platform/sandbox/sandbox.ts';
import { createAgentServer } from '../agent/server.ts';
import { AgentClient } from './agent-client.ts';
import { ControlSigner } from './control-signer.ts';

const home = mkdtempSync(join(tmpdir(), 'headgate-channel-'));
const servers: (Server | HttpServer)[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
  rmSync(home, { recursive: true, force: true });
});

async function listen(server: Server | HttpServer): Promise<number> {
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return (server.address() as AddressInfo).port; // listens on TCP
}

/** The built-in agent, its gateway, and a command of the sandbox between them that has their bytes. */
async function openChannel() {
  const signer = new ControlSigner();
  const model = createHttpServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const events = [
      { type: 'response.output_text.delta', delta: 'Hello' },
      { type: 'response.completed', response: { model: 'm', output: [], usage: {} } },
    ];
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  });
  const port = await listen(
    createAgentServer({
      baseUrl: `http://127.0.0.1:${await listen(model)}`,
      apiKey: 'x',
      model: undefined,
      instructions: '',
      port: 0,
      controlKey: signer.publicKey,
      replyKey: signer.replies.publicKey,
      home,
      proxy: undefined,
    }),
  );
  const seen: { request: string; reply: string }[] = [];
  const attack = { change: (reply: string): string => reply };
  const relay = await listen(
    createServer((client: Socket) => {
      const pass = { request: '', reply: '' };
      seen.push(pass);
      const agent = connect(port, '127.0.0.1');
      client.setEncoding('utf8').on('data', (text: string) => {
        pass.request += text;
        agent.write(text);
      });
      agent.setEncoding('utf8').on('data', (text: string) => {
        pass.reply += text;
      });
      agent.on('end', () => client.end(attack.change(pass.reply)));
      client.on('error', () => agent.destroy()).on('close', () => agent.destroy());
      agent.on('error', () => client.destroy());
    }),
  );
  const sandbox = { start: async () => ({ stream: connect(relay, '127.0.0.1') }) } as unknown as Sandbox; // only `stream` is read
  const agent = new AgentClient(sandbox, signer);
  const { signal } = new AbortController();
  await agent.checkHealth(signal);
  const run = async () => {
    const request = { run_id: 'r', session_id: 's', input: 'x', approval_mode: 'self-drive' } as const;
    const events = [];
    for await (const event of await agent.openRun(request, signal)) events.push(event);
    return events;
  };
  return { agent, signer, seen, attack, signal, run };
}

const forged = [
  'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{"type":"text","text":"Done."}\n{"type":"end","status":"completed"}\n',
  `HTTP/1.1 200 OK\r\nheadgate-reply-key: x\r\nconnection: close\r\n\r\n${'A'.repeat(43)} {"type":"end","status":"completed"}\n`,
];

describe('a reply to the gateway', () => {
  it('is from the agent', async () => {
    const { run, agent, signal } = await openChannel();
    expect((await run()).at(-1)).toMatchObject({ type: 'end' });
    expect(await agent.steer('r', 'more', signal)).toBe(false);
    expect(await agent.cancel('r', signal)).toBe(false);
  });

  it.each(forged)('is an error if a command forged it: %j', async (reply) => {
    const { run, agent, attack, signal } = await openChannel();
    attack.change = () => reply;
    const error = { problem: 'rejected', message: expect.stringContaining('not from the agent') };
    await expect(run()).rejects.toMatchObject(error);
    await expect(agent.cancel('r', signal)).rejects.toMatchObject(error);
    await expect(agent.checkHealth(signal)).rejects.toMatchObject(error);
  });

  it('is an error if it belongs to another request, or has another status', async () => {
    const { run, agent, seen, attack, signal } = await openChannel();
    await run();
    const { reply } = seen.at(-1)!;
    attack.change = () => reply;
    await expect(run()).rejects.toMatchObject({ problem: 'rejected' });
    attack.change = (own) => own.replace('404 Not Found', '202 Accepted');
    await expect(agent.cancel('r', signal)).rejects.toMatchObject({ problem: 'rejected' });
  });

  it('is an error without one of its events', async () => {
    const { run, attack } = await openChannel();
    const write = (own: string, isKept: (line: string) => boolean): string => {
      const lines = own.match(/^[\w-]{43} \{.*\}$/gm) ?? [];
      return `HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${lines.filter(isKept).join('\n')}\n`;
    };
    attack.change = (own) => write(own, () => true);
    expect(await run()).toContainEqual({ type: 'text', text: 'Hello' });
    attack.change = (own) => write(own, (line) => !line.includes('Hello'));
    await expect(run()).rejects.toMatchObject({ problem: 'rejected' });
  });

  it('is a 401 without a code for requests of commands', async () => {
    const { agent, attack, seen, signal } = await openChannel();
    const { request } = seen[0]!;
    expect(request).toContain('GET /.headgate/health');
    attack.change = () => 'HTTP/1.1 401 Unauthorized\r\nconnection: close\r\n\r\n{}';
    await expect(agent.cancel('r', signal)).rejects.toMatchObject({ problem: 'rejected', status: 401 });
  });
});
