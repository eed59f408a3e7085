import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startReceiver } from '../api/otlp-receiver.ts';
import { holdTool } from './held-tool.ts';
import { call, modes, openToolLab, type ToolLab } from './lab.ts';

const held = holdTool('telemetry');
let receiver: Awaited<ReturnType<typeof startReceiver>>;
let lab: ToolLab;
beforeAll(async () => {
  receiver = await startReceiver();
  lab = await openToolLab({ telemetry: { otlp_endpoint: receiver.url }, tools: { modules: [held.path] } });
});
afterAll(async () => {
  await lab.close();
  await receiver.upstream.close();
  held.close();
});

const wire = 'openai-chat';
const tools = [{ type: 'router:datetime' }, { type: held.type }];
const secret = 'a secret of the prompt';
const turns = [
  {
    calls: [
      call('router_datetime', { timezone: 'UTC' }),
      call(held.name, { text: secret }),
      call('router_magic'),
      call('router_datetime', { when: secret }),
    ],
  },
  { calls: [call(held.name, { text: 'again' }), call('router_datetime')] },
  { text: 'It is late.' },
];

/** Metric of tools with labels → value. */
async function readMetrics(): Promise<Map<string, number>> {
  const response = await fetch(`${lab.gateway.url}/metrics`);
  const lines = (await response.text())
    .split('\n')
    .filter((line) => /^headgate_tool_call(s_total|_seconds_count)/.test(line));
  return new Map(
    lines.map((line) => [line.slice(14, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

describe.each(modes)('a request with server tools, %s', (mode) => {
  it('has a span for each turn and each call, and counts the calls by tool and outcome', async () => {
    const known = receiver.spans().length;
    const before = await readMetrics();
    lab.script(wire, ...turns);
    const responding = lab.respond(wire, mode, { tools, input: secret, max_tool_calls: 5 });
    (await held.next()).fail(`It does not like ${secret}.`);
    (await held.next()).finish({ text: secret });
    expect((await responding).body.status).toBe('completed');

    await expect.poll(() => receiver.spans().length - known).toBeGreaterThanOrEqual(13);
    const spans = receiver.spans().slice(known);
    expect(spans).toHaveLength(13);
    const request = spans.find(({ kind }) => kind === 2)!;
    const inOrder = spans.filter(({ parentSpanId }) => parentSpanId === request.spanId);
    expect(inOrder.map(({ name, attributes }) => [name, attributes['headgate.tool_calls']]).sort()).toEqual([
      ['turn 1', 4],
      ['turn 2', 2],
      ['turn 3', 0],
    ]);
    const outcomes = inOrder.flatMap((turn) => {
      const children = spans.filter(({ parentSpanId }) => parentSpanId === turn.spanId);
      expect(
        children.filter(({ kind }) => kind === 3),
        'the attempt',
      ).toHaveLength(1);
      for (const { traceId, startNs, endNs } of [turn, ...children]) {
        expect(traceId).toBe(request.traceId);
        expect(startNs >= turn.startNs && endNs <= turn.endNs && endNs >= startNs).toBe(true);
        expect(startNs >= request.startNs && endNs <= request.endNs).toBe(true);
      }
      return children
        .filter(({ kind }) => kind === 1)
        .map(({ name, attributes, status }) => {
          const { 'headgate.turn': number, 'error.type': error } = attributes;
          expect(attributes).toMatchObject({ 'gen_ai.operation.name': 'execute_tool' });
          expect(name).toBe(`execute_tool ${attributes['gen_ai.tool.name']}`);
          expect(status.code ?? 0).toBe(error === undefined ? 0 : 2);
          return `${turn.name}/${number} ${name.slice('execute_tool '.length)} ${error ?? 'ok'}`;
        });
    });
    expect(outcomes.sort()).toEqual([
      'turn 1/1 none unknown_tool',
      'turn 1/1 router:datetime invalid_arguments',
      'turn 1/1 router:datetime ok',
      'turn 1/1 router:held_telemetry tool_error',
      'turn 2/2 router:datetime over_limit',
      'turn 2/2 router:held_telemetry ok',
    ]);
    expect(JSON.stringify(spans, (_, value) => (typeof value === 'bigint' ? String(value) : value))).not.toContain(
      secret,
    );

    const grown = [...(await readMetrics())].map(([name, value]) => [name, value - (before.get(name) ?? 0)]);
    expect(Object.fromEntries(grown.filter(([, value]) => value !== 0))).toEqual({
      'calls_total{tool="router:datetime",outcome="ok"}': 1,
      'calls_total{tool="router:datetime",outcome="invalid_arguments"}': 1,
      'calls_total{tool="router:datetime",outcome="over_limit"}': 1,
      'calls_total{tool="router:held_telemetry",outcome="ok"}': 1,
      'calls_total{tool="router:held_telemetry",outcome="tool_error"}': 1,
      'calls_total{tool="none",outcome="unknown_tool"}': 1,
      'call_seconds_count{tool="router:held_telemetry"}': 2,
      'call_seconds_count{tool="router:datetime"}': 1,
    });
  });

  it('has a span of a call that the client has left', async () => {
    const known = receiver.spans().length;
    lab.script(wire, { text: 'Wait.', calls: [call(held.name)] });
    const client = new AbortController();
    const body = { model: `acme/${wire}`, input: 'hi', tools, stream: mode === 'streamed' };
    const options = { signal: client.signal };
    const responding = lab.gateway.post('/responses', body, options).then((response) => response.text());
    await held.next();
    client.abort();
    await responding.catch(() => {});
    const cancelled = () =>
      receiver
        .spans()
        .slice(known)
        .find(({ name }) => name === `execute_tool ${held.type}`);
    await expect.poll(() => cancelled()?.attributes['error.type']).toBe('cancelled');
    // The last one of its trace: none arrives in the next test.
    await expect
      .poll(() =>
        receiver
          .spans()
          .slice(known)
          .some(({ kind }) => kind === 2),
      )
      .toBe(true);
  });
});
