import { describe, expect, it } from 'vitest';
import { textWires } from '../../src/providers/index.ts';
import { readRecording } from '../../src/testing/replay.ts';
import { type Cell, cutTexts, ends, features, type FeatureRow, type MatrixWire, overloads } from './api-cells.ts';
import { columns } from './matrix.ts';
import { readEvents } from './read-seen.ts';
import { type Served, serveExchange, type Upstream } from './serve-exchange.ts';
import { type Api, apis, type Question } from './text-apis.ts';

/*
 * Three APIs × four wires × eleven features, buffered and streamed. A cell asserts what the provider gets, what the
 * client gets, and what the provider gets back in the next turn. A cell whose protocol cannot carry a feature says why.
 */

const wires = Object.keys(overloads) as MatrixWire[];
const modes = [false, true];
const nameOf = (api: Api, wire: string, stream: boolean) => `${api.id} at ${wire}, ${stream ? 'streamed' : 'buffered'}`;
const places = apis.flatMap((api) =>
  wires.flatMap((wire) => modes.map((stream) => ({ api, wire, stream, name: nameOf(api, wire, stream) }))),
);
const rows = Object.entries(features);
const cells = rows.flatMap(([feature, row]) => places.map((place) => ({ feature, row, ...place })));

const record = (wire: MatrixWire, file: string) =>
  readRecording(new URL(`../../src/providers/${wire}/recordings/${file}.http`, import.meta.url));

function ask(api: Api, question: Question, stream: boolean, upstream: Omit<Upstream, 'model'>): Promise<Served> {
  return serveExchange(api, { ...api.writeBody(question), stream }, { ...upstream, model: columns[upstream.wire]! });
}

const textOf = (value: unknown) => JSON.stringify(value);

it('has a cell for each API, wire, feature and mode', () => {
  // The others respond inside this process, and so have no recorded protocol.
  const overHttp = [...textWires.keys()].filter((id) => id !== 'simulator' && id !== 'ai-sdk');
  expect(overHttp.sort()).toEqual([...wires].sort());
  expect(apis.map(({ id }) => id)).toEqual(['responses', 'chat completions', 'messages']);
  const names = [...rows.map(([name]) => name), 'cut stream', 'error'];
  expect(names).toEqual([
    ...['text', 'reasoning', 'tools', 'parallel tools', 'images', 'files'],
    ...['structured output', 'citations', 'refusal', 'cut stream', 'error'],
  ]);
  for (const [, row] of rows) expect(Object.keys(row.cells).sort()).toEqual([...wires].sort());
  expect(cells.length + 2 * places.length).toBe(3 * 4 * 11 * 2);
});

describe.each(rows)('%s', (feature, row) => {
  it.each(cells.filter((cell) => cell.feature === feature))('$name', async ({ api, wire, stream }) => {
    await checkCell(row, row.cells[wire], { api, wire, stream });
  });
});

async function checkCell(
  { question }: FeatureRow,
  cell: Cell,
  { api, wire, stream }: { api: Api; wire: MatrixWire; stream: boolean },
): Promise<void> {
  const upstream = { wire, recorded: record(wire, `${cell.recording}.${stream ? 'stream' : 'whole'}`) };
  const { sent, dropped, status, body } = await ask(api, question, stream, upstream);
  expect(status).toBe(200);
  expect(sent).toMatchObject(cell.sentBy?.[api.id] ?? cell.sent);
  expect(dropped).toEqual(cell.dropped?.[api.id] ?? []);

  const seen = api.read(body, stream);
  const expected = { ...cell.seen, ...cell.seenBy?.[api.id] };
  expect({ ...seen, ...hideIds(seen.calls, expected.calls), ...showSeals(api, seen.opaque) }).toMatchObject({
    ...expected,
    ...(api.id === 'messages' && expected.opaque && { opaque: expected.opaque.map(sealOf) }),
    end: ends[cell.end][api.id],
  });

  const next = await serveExchange(api, api.continueBody({ ...api.writeBody(question), stream }, seen), {
    ...upstream,
    model: columns[wire]!,
  });
  expect(next.status, next.body).toBe(200);
  const resent = textOf(next.sent);
  for (const value of cell.returned ?? []) expect(resent).toContain(value);
  for (const { id } of seen.calls) expect(resent).toContain(`output of ${id}`);

  if (!cell.refuses) return;
  const refused = await ask(api, { ...question, ...cell.refuses.ask }, stream, upstream);
  expect(refused.status, cell.refuses.why).toBe(400);
  expect(refused.sent).toBeUndefined();
  expect(refused.body).toContain(`"path":${textOf(cell.refuses.field)}`);
}

/** Calls of a protocol without ids get ids, which differ. */
function hideIds(calls: { id: string }[], expected: { id: string }[] = []): object {
  const isMade = expected.some(({ id }) => id === 'made by the gateway');
  if (isMade) for (const { id } of calls) expect(id).toMatch(/^call_\w{8,}$/);
  return isMade ? { calls: calls.map((call) => ({ ...call, id: 'made by the gateway' })) } : {};
}

/** A message has signatures of Claude as they are, and seals those of others. `returned` shows that they come back. */
const sealOf = (opaque: string): string => (opaque.startsWith('Eq') ? opaque : 'sealed');
const showSeals = ({ id }: Api, opaque: string[]): object =>
  id === 'messages'
    ? { opaque: opaque.filter(holdsSeal).map((each) => (each.startsWith('hg1.') ? 'sealed' : each)) }
    : {};

/** A block of plain reasoning has a seal without any opaque value. */
const holdsSeal = (seal: string): boolean =>
  !seal.startsWith('hg1.') ||
  /"(signature|encrypted_content)"/.test(Buffer.from(seal.slice('hg1.'.length), 'base64url').toString());

describe('cut stream', () => {
  it.each(places)('$name', async ({ api, wire, stream }) => {
    const recorded = record(wire, `text.${stream ? 'stream' : 'whole'}`);
    const middle = Math.floor(recorded.body.length * 0.5);
    const bytes = stream ? recorded.body.lastIndexOf(frameEnd(recorded.body), middle) : middle;
    const { status, body } = await ask(api, { parts: ['Hello'] }, stream, { wire, recorded, bytes });
    if (!stream) {
      expect(status).toBe(502);
      expect(JSON.parse(body)).toMatchObject(errorShape(api, 502, 'provider_unavailable', /not JSON/));
      return;
    }
    expect(status).toBe(200);
    const events = readEvents(body);
    const text = textOfEvents(api, events);
    expect(text.length).toBeGreaterThan(5);
    expect(cutTexts[wire].startsWith(text)).toBe(true);
    expect(text).not.toBe(cutTexts[wire]);
    checkCutEnd(api, events);
  });
});

const frameEnd = (body: Buffer): string => (body.includes('\r\n\r\n') ? '\r\n\r\n' : '\n\n');

// biome-ignore lint/suspicious/noExplicitAny: events are data of a foreign shape
type Event = any;

function textOfEvents({ id }: Api, events: Event[]): string {
  const pick = (event: Event): string | undefined => {
    if (id === 'responses') return event.type === 'response.output_text.delta' ? event.delta : undefined;
    if (id === 'messages') return event.delta?.text;
    return event.choices?.[0]?.delta.content;
  };
  return events.map((event) => pick(event) ?? '').join('');
}

/** The end of a stream that the provider cut, in the words of each API. None has its regular end. */
function checkCutEnd({ id }: Api, events: Event[]): void {
  const message = expect.stringContaining('in the middle');
  const failure = { code: 'provider_unavailable', message, type: 'provider_unavailable', param: null };
  switch (id) {
    case 'responses':
      expect(events.at(-3)).toMatchObject({ type: 'error', code: 'provider_unavailable', message });
      expect(events.at(-2)).toMatchObject({
        type: 'response.failed',
        response: {
          status: 'failed',
          error_type: 'provider_unavailable',
          error: { code: 'server_error', message },
          output: [{ status: 'incomplete' }],
        },
      });
      expect(events.at(-1)).toBe('[DONE]');
      expect(events.some(({ type }) => type === 'response.completed' || type === 'response.incomplete')).toBe(false);
      return;
    case 'chat completions':
      expect(events.at(-2)).toMatchObject({ choices: [{ delta: {}, finish_reason: 'error' }], error: failure });
      expect(events.at(-3)).toEqual({ error: { ...failure, metadata: { error_type: 'provider_unavailable' } } });
      expect(events.at(-1)).toBe('[DONE]');
      expect(events.filter((event) => event.choices?.[0]?.finish_reason)).toHaveLength(1);
      return;
    default:
      expect(events.at(-1)).toMatchObject({
        type: 'error',
        error: { type: 'api_error', message, error_type: 'provider_unavailable' },
        request_id: 'req_1',
      });
      expect(events.some(({ type }) => type === 'message_delta' || type === 'message_stop')).toBe(false);
  }
}

/** The words of the format of Anthropic for statuses. */
const messagesTypes: Readonly<Record<number, string>> = { 502: 'api_error', 529: 'overloaded_error' };

function errorShape({ id }: Api, status: number, type: string, message: RegExp): object {
  const error = { code: status, message: expect.stringMatching(message) };
  if (id === 'responses') return { error: { ...error, metadata: { error_type: type } } };
  if (id === 'chat completions')
    return { error: { ...error, code: type, type, param: null, metadata: { error_type: type } } };
  return { type: 'error', error: { ...error, type: messagesTypes[status], error_type: type }, request_id: 'req_1' };
}

describe('error', () => {
  it.each(places)('$name', async ({ api, wire, stream }) => {
    const { status, body } = await ask(api, { parts: ['Hello'] }, stream, {
      wire,
      recorded: record(wire, 'overloaded'),
    });

    expect(status).toBe(529);
    const says = new RegExp(overloads[wire]);
    expect(JSON.parse(body)).toMatchObject(errorShape(api, 529, 'provider_overloaded', says));
  });
});
