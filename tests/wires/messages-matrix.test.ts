import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { MessageEvents, type MessageFacts } from '../../src/api/messages/message-events.ts';
import { MessageFold } from '../../src/api/messages/message-fold.ts';
import { foldMessage } from '../../src/api/messages/message-format.ts';
import type { FoldedMessage, MessageEvent } from '../../src/api/messages/wire.ts';
import type { Chunk } from '../../src/domain/chunks.ts';
import { GatewayError } from '../../src/domain/errors.ts';
import type { LifecycleEvent } from '../../src/domain/events.ts';
import { findRequestFile } from '../../src/exchanges/file-names.ts';
import { readRecordedRequest } from '../../src/exchanges/folder.ts';
import { EventBuilder } from '../../src/pipeline/events/build-events.ts';
import { createResponseObject } from '../../src/pipeline/events/response-object.ts';
import { getTextWire } from '../../src/providers/text-wire.ts';
import { wires } from '../../src/providers/index.ts';
import { checkMessagesBody, readMessagesRequest } from '../../src/requests/messages/request.ts';
import { readRequest } from '../../src/requests/responses/request.ts';
import { readRecording, replayBody } from '../../src/testing/replay.ts';
import { columns } from './matrix.ts';

const native = 'anthropic-messages';
const format = { version: undefined, betas: [] };

/** All exchanges of a wire that were recorded as a stream and as a whole response. */
function listPairs(wire: string): { name: string; folder: URL }[] {
  const folder = new URL(`../../src/providers/${wire}/recordings/`, import.meta.url);
  const files = readdirSync(folder);
  return files.flatMap((file) => {
    const name = file.replace('.stream.http', '');
    const isPair = file !== name && files.includes(`${name}.whole.http`) && name !== 'failed';
    return isPair ? [{ name, folder }] : [];
  });
}

/** Reads a recording as the pipeline does for a client of the Messages API. */
function readChunks(wireId: string, folder: URL, name: string, stream: boolean): Chunk[] {
  const wire = getTextWire(wires.get(wireId)!);
  const url = new URL(`${name}.${stream ? 'stream' : 'whole'}.http`, folder);
  const recorded = readRecordedRequest(findRequestFile(fileURLToPath(url)));
  const target = {
    endpoint: 'a model',
    upstreamModel: recorded?.upstream_model ?? columns[wireId]!,
    stream,
    dialect: recorded?.dialect ?? {},
  };
  const { request } = recorded
    ? readRequest({ model: 'one', ...recorded.request }, {})
    : readMessagesRequest(checkMessagesBody({ model: 'one', messages: [{ role: 'user', content: 'x' }] }), format, {});
  const { readerContext } = wire.writeRequest(request, target);
  const { body } = readRecording(url);
  return stream
    ? replayBody(body, wire.createReader(readerContext))
    : wire.readWhole(JSON.parse(body.toString()), readerContext);
}

/** Runs chunks through both paths: the events of a stream, and the response of a buffered run. */
function respond(chunks: Chunk[], stream: boolean): { message: FoldedMessage; events: MessageEvent[] } {
  const start = chunks.find((chunk) => chunk.type === 'start')?.native;
  const end = chunks.find((chunk) => chunk.type === 'finish')?.native;
  const facts: MessageFacts = {
    requestId: 'req_1',
    rename: (text) => text,
    estimateInput: () => 5,
    readStart: () => start,
    readEnd: () => end,
    readStop: () => undefined,
  };
  const builder = new EventBuilder(
    {
      base: () => createResponseObject({}, 'resp_1', 0, 'acme/one'),
      model: () => 'acme/one',
      settle: () => ({ usage: null, serviceTier: null, routerMetadata: undefined }),
      now: () => 0,
      limitBytes: 1e9,
    },
    stream,
  );
  const built = builder.build(chunks);
  if (!stream) return { message: foldMessage((built.at(-1) as LifecycleEvent).response, facts), events: [] };
  const fold = new MessageFold();
  const messages = new MessageEvents(facts);
  const events = built.flatMap((event) => messages.take(event));
  for (const event of events) fold.add(event);
  return { message: fold.folded, events };
}

/** What both paths must have in common. Ids of items, in seals, differ between two runs. */
const comparable = ({ content, stop_reason, stop_sequence }: FoldedMessage): unknown =>
  JSON.parse(
    JSON.stringify({ content, stop_reason, stop_sequence }).replaceAll(
      /"hg1\.[^"]*"|"(?:srvtoolu|call)_[^"]*"/g,
      '"…"',
    ),
  );

describe.each(Object.keys(columns))('a client of the Messages API and the recordings of %s', (wireId) => {
  it.each(listPairs(wireId))('has the same message streamed and buffered: $name', ({ name, folder }) => {
    const { message, events } = respond(readChunks(wireId, folder, name, true), true);

    expect(comparable(message)).toEqual(comparable(respond(readChunks(wireId, folder, name, false), false).message));
    checkOrder(events);
  });
});

/** Checks that each block has a start, then its deltas, then a stop, and that the message has its frame. */
function checkOrder(events: readonly MessageEvent[]): void {
  const types = events.map(({ type }) => type);
  expect(types[0]).toBe('message_start');
  expect(types.slice(-2)).toEqual(['message_delta', 'message_stop']);
  const open = new Set<number>();
  let next = 0;
  for (const event of events) {
    if (event.type === 'content_block_start') {
      expect(event.index).toBe(next++);
      open.add(event.index);
    } else if (event.type === 'content_block_delta') expect(open.has(event.index)).toBe(true);
    else if (event.type === 'content_block_stop') expect(open.delete(event.index)).toBe(true);
  }
  expect(open.size).toBe(0);
}

describe('the recordings of the native wire', () => {
  it.each(listPairs(native))('lose no block and no field: $name', ({ name, folder }) => {
    const url = new URL(`${name}.whole.http`, folder);
    if (readRecordedRequest(findRequestFile(fileURLToPath(url)))) return; // the request has tools of another format
    const given = JSON.parse(readRecording(url).body.toString()) as FoldedMessage;
    const { message } = respond(readChunks(native, folder, name, false), false);

    const told = given.content.filter(({ type, text }) => type !== 'text' || text !== '');
    expect(message.content).toEqual(told);
    for (const [field, value] of Object.entries(given)) {
      if (!['id', 'model', 'content', 'usage'].includes(field)) expect(message[field] ?? null, field).toEqual(value);
    }
  });
});

it('a stream that is cut never ends regularly', () => {
  const { folder } = listPairs(native)[0]!;
  const chunks = readChunks(native, folder, 'text', true).slice(0, -1);
  const builder = new EventBuilder({
    base: () => createResponseObject({}, 'resp_1', 0, 'acme/one'),
    model: () => 'acme/one',
    settle: () => ({ usage: null, serviceTier: null, routerMetadata: undefined }),
    now: () => 0,
    limitBytes: 1e9,
  });
  const facts = { requestId: 'req_1', rename: (text: string) => text, estimateInput: () => 0 };
  const messages = new MessageEvents({
    ...facts,
    readStart: () => undefined,
    readEnd: () => undefined,
    readStop: () => undefined,
  });
  const error = new GatewayError('upstream_overloaded', 'Too many requests.');
  const events = [...builder.build(chunks), ...builder.fail(error)].flatMap((event) => messages.take(event));

  expect(events.at(-1)).toMatchObject({ type: 'error', error: { type: 'overloaded_error' }, request_id: 'req_1' });
  expect(events.map(({ type }) => type)).not.toContain('message_stop');
});
