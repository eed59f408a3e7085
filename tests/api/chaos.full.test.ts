import { afterEach, beforeEach, expect, it } from 'vitest';
import { json, sse, stallBeforeHeaders } from '../../src/testing/scripted-responses.ts';
import { type ScriptedRequest, type ScriptedUpstream, startUpstream } from '../../src/testing/scripted-upstream.ts';
import { testSeed } from '../../src/testing/seed.ts';
import { readStream, type TestGateway, testGateway } from '../../src/testing/test-gateway.ts';
import { patient } from '../../src/testing/patience.ts';

/**
 * So long, and so few clients, that no provider gathers a hundred requests however slow the machine is: from then on its
 * uptime counts, and one that failed too often comes last for half an hour.
 */
const OUTAGE_MS = 2000;
const CLIENTS = 12;

let upstreams: ScriptedUpstream[];
let gateway: TestGateway;
beforeEach(async () => {
  upstreams = await Promise.all(Array.from({ length: 5 }, () => startUpstream()));
  gateway = await testGateway({
    routing: { outage_ms: OUTAGE_MS, seed: testSeed },
    providers: upstreams.map(({ url }, index) => ({
      id: `p${index}`,
      wire: 'openai-chat',
      base_url: url,
      timeouts: { first_byte_ms: 1000 },
      models: [{ model: 'acme/m', pricing: { prompt: 0.000001, completion: 0.000001 } }],
    })),
  });
  for (const index of upstreams.keys()) mend(index);
});
afterEach(async () => {
  await gateway.close();
  await Promise.all(upstreams.map((upstream) => upstream.close()));
});

/** Responds with the question and its own number, in pieces for a stream. */
function mend(index: number): void {
  upstreams[index]!.always((request) => answer(index, request));
}

function answer(index: number, { body }: ScriptedRequest) {
  const { messages, stream } = body as { messages: { content: string }[]; stream?: boolean };
  const pieces = [`${messages.at(-1)!.content} `, 'was answered ', `by p${index}.`];
  const usage = { prompt_tokens: 1, completion_tokens: 3, total_tokens: 4 };
  const head = { id: 'x', created: 1, model: 'm' };
  if (!stream) {
    const message = { role: 'assistant', content: pieces.join('') };
    return json({ ...head, object: 'chat.completion', choices: [{ index: 0, message, finish_reason: 'stop' }], usage });
  }
  const chunk = { ...head, object: 'chat.completion.chunk' };
  return sse([
    ...pieces.map((content) => ({ ...chunk, choices: [{ index: 0, delta: { content }, finish_reason: null }] })),
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage },
    '[DONE]',
  ]);
}

interface Seen {
  question: string;
  status: string;
  text: string;
}

let asked = 0;

/** Sends one request, buffered and streamed alternately. @returns what its client received */
async function ask(): Promise<Seen> {
  const question = `Question ${asked++}`;
  const body = { model: 'acme/m', input: question, stream: asked % 2 === 0 };
  const read = await readStream(await gateway.post('/responses', body));
  if (!body.stream) {
    const response = JSON.parse(read.text) as {
      status?: string;
      output?: { content: { text: string }[] }[];
      error?: object;
    };
    return { question, status: response.status ?? 'error', text: response.output?.[0]?.content[0]?.text ?? read.text };
  }
  const deltas = read.events.flatMap((event) => (event.type === 'response.output_text.delta' ? [event['delta']] : []));
  const last = read.events.at(-1);
  return { question, status: last?.type ?? read.text, text: deltas.join('') };
}

/** Runs concurrent clients, each of which sends requests until the total is reached. */
async function load(count: number): Promise<Seen[]> {
  const seen: Seen[] = [];
  let left = count;
  await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      while (left-- > 0) seen.push(await ask());
    }),
  );
  return seen;
}

/** Whether it is complete, from one provider, and a response to its question. */
function expectWhole(seen: readonly Seen[]): void {
  for (const { question, status, text } of seen) {
    expect({ question, status }).toEqual({ question, status: expect.stringMatching(/^(?:response\.)?completed$/) });
    expect(text).toMatch(new RegExp(`^${question} was answered by p\\d\\.$`));
  }
  expect(new Set(seen.map(({ question }) => question)).size).toBe(seen.length);
}

/** Whether it is a stream that had begun when its provider died: the one failure that cannot be hidden. It reports it, and mixes nothing. */
function wasCut({ question, status, text }: Seen): boolean {
  return status === 'response.failed' && text !== '' && `${question} was answered by p0.`.startsWith(text);
}

const shareOf = (index: number, seen: readonly Seen[]): number =>
  seen.filter(({ text }) => text.endsWith(`by p${index}.`)).length / seen.length;

it('serves every request while three of five providers are dead, stuck or full, and uses them again when they are back', async () => {
  const before = await load(60);
  expectWhole(before);
  for (const index of upstreams.keys()) expect(shareOf(index, before)).toBeGreaterThan(0);

  const underWay = load(120);
  await expect.poll(() => asked, { interval: 1 }).toBeGreaterThan(90);
  await upstreams[0]!.down(); // with requests open there
  upstreams[1]!.always(stallBeforeHeaders());
  upstreams[2]!.always(json({ error: { message: 'Full.' } }, { status: 429, headers: { 'retry-after': '1' } }));
  expectWhole((await underWay).filter((seen) => !wasCut(seen)));
  const floods = upstreams[2]!.requests.length;
  const during = await load(120);
  expectWhole(during);
  for (const index of [0, 1, 2]) expect(shareOf(index, during)).toBe(0);
  // A provider with a retry time is not called by every request before that time.
  expect(upstreams[2]!.requests.length - floods).toBeLessThan(during.length / 2);

  await upstreams[0]!.up();
  for (const index of [1, 2]) mend(index);
  const back = new Set<number>();
  await expect
    .poll(
      async () => {
        const after = await load(30);
        expectWhole(after);
        for (const index of [0, 1, 2]) if (shareOf(index, after) > 0) back.add(index);
        return back.size;
      },
      { timeout: patient(120_000), interval: OUTAGE_MS / 4 },
    )
    .toBe(3);
});
