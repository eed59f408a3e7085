import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ScriptedUpstream, startUpstream, type TestGateway, testGateway } from '../../src/testing/index.ts';
import { type AnsweringWire, answeringWires as wires, plainAnswers } from './plain-answers.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream();
  const provider = (wire: AnsweringWire, id: string, dialect: object) => ({
    id,
    name: id,
    wire,
    base_url: upstream.url,
    models: [{ model: `acme/${wire}`, upstream_model: id, dialect, rules_of: 'x' }],
  });
  gateway = await testGateway({
    providers: wires.flatMap((wire) => [
      provider(wire, `${wire}-plain`, { tools: { supported: false } }),
      provider(wire, `${wire}-able`, {}),
    ]),
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});

let seen = 0;
/** The requests since the last `send`. */
const sent = () => upstream.requests.slice(seen);

describe.each(wires)('an endpoint without tools, of the wire %s,', (wire) => {
  const send = (order: string[], more: object) => {
    seen = upstream.requests.length;
    upstream.always(plainAnswers[wire]('ok'));
    return gateway.post(
      '/responses',
      {
        model: `acme/${wire}`,
        input: 'Hi',
        tools: [{ type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }],
        provider: { order, allow_fallbacks: order.length > 1 },
        ...more,
      },
      { headers: { 'x-router-metadata': 'enabled' } },
    );
  };

  it('rejects a request with tools', async () => {
    const response = await send([`${wire}-plain`], {});
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error.message).toBe(`tools: acme/${wire} at ${wire}-plain has no function tools.`);
    expect(sent()).toHaveLength(0);
  });

  it('leaves a request with tools to the next endpoint', async () => {
    const response = await send([`${wire}-plain`, `${wire}-able`], {});
    expect(response.status).toBe(200);
    expect(sent()).toHaveLength(1);
    expect(JSON.stringify(sent()[0]!.body)).toContain('"name":"f"');
  });

  it('gets a request that forbids calls, without the tools', async () => {
    const response = await send([`${wire}-plain`], { tool_choice: 'none', parallel_tool_calls: false });
    expect(response.status).toBe(200);
    const names = Object.keys(sent()[0]!.body as object);
    for (const name of ['tools', 'tool_choice', 'parallel_tool_calls', 'toolConfig']) expect(names).not.toContain(name);
    const { router_metadata: metadata } = (await response.json()) as {
      router_metadata: { params: { adapted: string[] } };
    };
    expect(metadata.params.adapted).toContain('tools');
  });
});
