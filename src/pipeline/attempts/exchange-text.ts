import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Chunk } from '../../domain/chunks.ts';
import { listDepthHeaders } from '../../domain/depth-headers.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Sink } from '../../domain/sink.ts';
import { TURN_LENGTH } from '../../domain/turn-length.ts';
import type { Usage } from '../../domain/usage.ts';
import { restoringWire } from '../../providers/rules/fit/restore.ts';
import { getTextWire } from '../../providers/text-wire.ts';
import type { UpstreamRequest } from '../../providers/wire.ts';
import type { TextAttempt } from '../run/attempt.ts';
import { AttemptNotes } from './attempt-notes.ts';
import { dispatch, receive, takeKey, upstreamOf } from './exchange.ts';
import { KeptSize } from '../events/kept-size.ts';
import { noteRequestId, noteTier } from './note-request-id.ts';
import { readLocalFrames } from './read-response.ts';
import type { Run } from '../run/run.ts';
import { writeJson } from '../../domain/write-json.ts';

/** Replaces a body once it is serialized, so that it is not in memory twice. */
const sent = {};

/**
 * Sends the request of an attempt, and reads the response into chunks.
 *
 * @param limitBytes maximum of a whole response, of a stream event, and of the retained parts of all turns together
 */
export function exchangeText(
  run: Run,
  attempt: TextAttempt,
  written: UpstreamRequest,
  limitBytes: number,
  out: Sink<Chunk>,
): Promise<void> {
  const notes = new AttemptNotes(attempt, out);
  return dispatch(attempt, () => exchange(run, attempt, written, limitBytes, notes));
}

async function exchange(
  run: Run,
  attempt: TextAttempt,
  written: UpstreamRequest,
  limitBytes: number,
  out: Sink<Chunk>,
): Promise<void> {
  const { endpoint, wire } = attempt;
  const text = getTextWire(wire);
  const { provider } = endpoint;
  const { name } = provider;
  const { cancellation } = run;
  const stream = run.request.stream === true;
  const onInterrupted = (counted: Usage | undefined): void => {
    attempt.counted = counted;
  };
  const kept = new KeptSize(run.steps.at(-2)?.committed?.kept);
  attempt.kept = kept;
  const reading = written.restore ? restoringWire(text, written.restore) : text;
  if (text.send) {
    attempt.isSent = true;
    const frames = text.send(written, cancellation.signal);
    const how = { name, limitBytes, cancellation, onInterrupted, kept };
    return readLocalFrames(reading.createReader(written.readerContext), frames, how, out);
  }
  const upstream = upstreamOf(provider);
  const headers = provider.headersFor(takeKey(attempt), attempt.isStreamed);
  let all = written.headers ? replaceHeaders(headers, written.headers) : headers;
  if (run.servedTools && wire.reachesGateways) all = all.concat(listDepthHeaders(run.servedTools));
  const encoded = encodeBody(run, written);
  const body = encoded instanceof Promise ? await encoded : encoded;
  run.input.park();
  const onSent = () => {
    attempt.isSent = true;
  };
  const response = await upstream.send(written.path, all, body, cancellation, { onSent });
  noteRequestId(attempt, response);
  noteTier(attempt, response, wire);
  const { readerContext } = written;
  const how = { wire: reading, readerContext, name, limitBytes, isBuffered: !stream, onInterrupted, kept };
  // not awaited: a suspended function keeps all of its values, here as long as the stream
  return receive(response, how, wire.readError, out);
}

/** Adds the headers of one request. They replace those of the provider with the same name. */
export function replaceHeaders(headers: readonly string[], own: Readonly<Record<string, string>>): string[] {
  const kept = headers.filter((_, index) => !(headers[index - (index % 2)]!.toLowerCase() in own));
  return kept.concat(Object.entries(own).flat());
}

/**
 * Serializes the body of a request, and removes it from the request. Not a part of `exchange`, because a suspended
 * function keeps all of its values: the text would stay in memory as long as the stream.
 */
function encodeBody({ steps, request }: Run, written: UpstreamRequest): MaybePromise<Buffer> {
  const json = writeJson(written.body);
  written.body = sent;
  const encode = () => (steps.length > 1 || request.stream ? encodeApart(json) : Buffer.from(json));
  return json.length > TURN_LENGTH ? nextTurn().then(encode) : encode();
}

/**
 * Encodes the body of a stream or of a later step outside of the pool of Node. A connection to a provider keeps its body
 * until it has the next one. A slice of the pool would keep 64 KB, with the bodies of earlier steps and of responses
 * that have ended.
 */
function encodeApart(json: string): Buffer {
  const body = Buffer.allocUnsafeSlow(Buffer.byteLength(json));
  body.write(json);
  return body;
}
