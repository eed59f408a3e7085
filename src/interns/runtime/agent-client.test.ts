import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Sandbox } from '../../platform/sandbox/sandbox.ts';
import { AgentClient } from './agent-client.ts';
import { ControlSigner } from './control-signer.ts';

it('reads the events of a run wherever they are cut, also one of many pieces', async () => {
  const long = 'ä'.repeat(500_000);
  const events = [
    { type: 'text', text: 'a' },
    { type: 'text', text: long },
    { type: 'text', text: 'b' },
    { type: 'end', status: 'completed' },
  ];
  const lines = Buffer.from(events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  const size = 50_001; // it cuts characters
  const agent = createServer(async (_, response) => {
    for (let at = 0; at < lines.length; at += size) {
      response.write(lines.subarray(at, at + size));
      await turn();
    }
    response.end();
  }).listen(0, '127.0.0.1');
  await once(agent, 'listening');
  const { port } = agent.address() as AddressInfo; // not a path
  const sandbox = { start: async () => ({ stream: connect(port, '127.0.0.1') }) } as unknown as Sandbox; // only `stream` is read
  const run = { run_id: 'r', session_id: 's', input: 'x', approval_mode: 'self-drive' } as const;
  const received = [];
  for await (const event of await new AgentClient(sandbox, new ControlSigner()).openRun(
    run,
    new AbortController().signal,
  )) {
    received.push(event);
  }
  expect(received).toEqual(events);
  agent.close();
});
