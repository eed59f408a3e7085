import { afterEach, expect, it } from 'vitest';
import { type TestGateway, testGateway } from '../../src/testing/index.ts';
import { manage } from '../api/manage.ts';
import { startReceiver } from '../api/otlp-receiver.ts';

let gateway: TestGateway;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
afterEach(async () => {
  await gateway.close();
  await receiver.upstream.close();
});

async function start(telemetry: object = { contents: true, contents_max_bytes: '4KiB' }): Promise<void> {
  receiver = await startReceiver();
  const rules = { content_filter_builtins: [{ slug: 'email', action: 'redact' }] };
  const guardrails = [{ name: 'no addresses', workspace: 'main', rules, keys: ['app'] }];
  gateway = await testGateway(
    { telemetry: { otlp_endpoint: receiver.url, ...telemetry }, bootstrap: { guardrails } },
    undefined,
    { gatherMs: 1 },
  );
}
const keep = (isKept: boolean) =>
  manage(() => gateway)('PATCH', '/workspaces/main', {
    is_observability_io_logging_enabled: isKept,
    io_logging_sampling_rate: 1,
  });

/** Sends a request. @returns the attributes of its attempt */
async function trace(body: object): Promise<Record<string, unknown>> {
  const before = receiver.spans().length;
  const response = await gateway.post('/responses', { model: 'simulator/echo', ...body });
  expect(response.status, await response.text()).toBe(200);
  await expect.poll(() => receiver.spans().length).toBe(before + 2);
  const [request, attempt] = [2, 3].map(
    (kind) =>
      receiver
        .spans()
        .slice(before)
        .find((span) => span.kind === kind)!,
  );
  expect(Object.keys(request!.attributes).filter((name) => /messages|instructions/.test(name))).toEqual([]);
  return attempt!.attributes;
}
const read = (attributes: Record<string, unknown>, name: string) => JSON.parse(attributes[name] as string) as unknown;

it('spans of workspaces that keep contents have them, redacted and truncated', async () => {
  await start();
  await keep(true);
  const short = await trace({ instructions: 'Be brief.', input: 'I am ada@example.com.' });
  expect(read(short, 'gen_ai.system_instructions')).toEqual([{ type: 'text', content: 'Be brief.' }]);
  expect(read(short, 'gen_ai.input.messages')).toEqual([
    { role: 'user', parts: [{ type: 'text', content: expect.stringMatching(/^I am .*\.$/) }] },
  ]);
  expect(read(short, 'gen_ai.output.messages')).toEqual([
    { role: 'assistant', parts: [{ type: 'text', content: expect.stringContaining('I am') }], finish_reason: 'stop' },
  ]);
  expect(JSON.stringify(receiver.spans(), (_, value) => (typeof value === 'bigint' ? 0 : value))).not.toContain('ada@');

  const long = await trace({ input: 'word '.repeat(20_000) });
  expect(long['gen_ai.input.messages']).toContain('[cut: 100000 characters in all]');
  const bytes = ['input', 'output'].map((side) => Buffer.byteLength(long[`gen_ai.${side}.messages`] as string));
  expect(bytes[0]! + bytes[1]!).toBeLessThan(5000);
});

it('spans of other workspaces have no contents, and without the setting none have', async () => {
  await start();
  expect(JSON.stringify(await trace({ input: 'Hello' }))).not.toContain('messages');
  await gateway.close();
  await receiver.upstream.close();
  await start({});
  await keep(true);
  expect(JSON.stringify(await trace({ input: 'Hello' }))).not.toContain('messages');
});
