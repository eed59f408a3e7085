import type { Chunk, FinishChunk } from '../domain/chunks.ts';
import { GatewayError } from '../domain/errors.ts';
import type { Frame, Reader, UpstreamRequest } from '../providers/provider.ts';
import type { Endpoint } from '../providers/provider-entry.ts';
import { createFrameCutter } from '../providers/sse-frames.ts';
import type { UpstreamAnswer } from '../providers/transport.ts';
import { shortenForDebug } from './debug-body.ts';
import type { Run } from './run.ts';

/** Bytes of an error body that are read. */
const ERROR_BODY_BYTES = 1024 * 1024;

/**
 * One try on an endpoint: writes the request, sends it, reads the answer into chunks, a batch for each network read.
 *
 * @param limitBytes the largest whole answer, or single stream event, that is read
 * @returns after exactly one `finish` chunk
 * @throws {GatewayError} whatever went wrong; `retryable` when another endpoint may do better
 */
export async function* attempt(run: Run, endpoint: Endpoint, limitBytes: number): AsyncGenerator<Chunk[]> {
  const { provider, upstreamModel } = endpoint;
  const { request, signal } = run;
  const stream = request.stream === true;
  const name = `${endpoint.model} at ${provider.name}`;
  const written = provider.wire.writeRequest(request, {
    endpoint: name,
    upstreamModel,
    stream,
    dialect: provider.dialect,
    ...(run.endUser === undefined ? undefined : { endUser: run.endUser }),
  });
  run.droppedFields = written.dropped;
  if (stream && request.debug?.echo_upstream_body) {
    yield [{ type: 'debug', upstreamBody: shortenForDebug(written.body) }];
  }
  run.dispatchedAt ??= performance.now();
  try {
    let finished = false;
    for await (const chunks of readAnswer(endpoint, written, signal, stream, limitBytes, run)) {
      const last = chunks.at(-1);
      for (const chunk of chunks) {
        if (chunk.type === 'finish') {
          if (last !== chunk) chunks.length = chunks.indexOf(chunk) + 1; // nothing counts after the end
          finished = true;
          noteFinish(run, chunk);
          break;
        }
        if (chunk.type === 'start' && chunk.model !== undefined) run.upstreamModel = chunk.model;
      }
      if (chunks.length > 0) yield chunks;
      if (finished) return;
    }
    throw new GatewayError('upstream_failed', `${name} ended its answer in the middle.`, { retryable: true });
  } finally {
    run.upstreamEndedAt = performance.now();
  }
}

function noteFinish(run: Run, finish: FinishChunk): void {
  run.finish = finish;
  if (finish.dropped) run.droppedUpstreamFields = finish.dropped;
}

async function* readAnswer(
  { provider }: Endpoint,
  written: UpstreamRequest,
  signal: AbortSignal,
  stream: boolean,
  limitBytes: number,
  run: Run,
): AsyncGenerator<Chunk[]> {
  const { wire, upstream } = provider;
  if (wire.answer) {
    run.upstreamBodyLength = JSON.stringify(written.body).length;
    yield* readInside(wire.createReader(written.reading), wire.answer(written, signal), signal);
    return;
  }
  if (!upstream) throw new GatewayError('internal', `The provider ${provider.id} has no address.`);
  const body = JSON.stringify(written.body);
  run.upstreamBodyLength = body.length;
  const headers = provider.nextHeaders(stream);
  const all = written.headers ? headers.concat(Object.entries(written.headers).flat()) : headers;
  const answer = await upstream.send(written.path, all, body, signal);
  try {
    if (answer.status < 200 || answer.status > 299) {
      throw wire.readError({
        status: answer.status,
        headers: answer.headers,
        body: parseIfJson(await readText(answer, ERROR_BODY_BYTES, provider.name, true)),
      });
    }
    const first = await answer.read();
    if (speaksEvents(answer, first)) yield* readStream(answer, first, wire.createReader(written.reading), limitBytes);
    else {
      const text = await readText(answer, limitBytes, provider.name, false, first);
      yield wire.readWhole(parseWhole(text, provider.name), written.reading);
    }
  } finally {
    answer.release();
  }
}

async function* readInside(
  reader: Reader,
  frames: AsyncIterable<Frame[]>,
  signal: AbortSignal,
): AsyncGenerator<Chunk[]> {
  for await (const batch of frames) {
    if (signal.aborted) throw signal.reason;
    yield* readBatch(reader, batch);
  }
  yield reader.end();
}

async function* readStream(
  answer: UpstreamAnswer,
  first: Buffer[] | undefined,
  reader: Reader,
  limitBytes: number,
): AsyncGenerator<Chunk[]> {
  const cutter = createFrameCutter(limitBytes);
  for (let pieces = first; pieces !== undefined; pieces = await answer.read()) {
    const frames = cutter.push(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
    if (frames.length > 0) yield* readBatch(reader, frames);
  }
  yield* readBatch(reader, cutter.end());
  yield reader.end();
}

/** The chunks of one network read. Of a batch that breaks in the middle, what came before is given first. */
function* readBatch(reader: Reader, frames: Frame[]): Generator<Chunk[]> {
  const chunks: Chunk[] = [];
  try {
    for (const frame of frames) {
      for (const chunk of reader.read(frame)) chunks.push(chunk);
    }
  } catch (error) {
    yield chunks;
    throw error;
  }
  yield chunks;
}

/** By its content type, or by its first byte where a server names it wrongly. */
function speaksEvents(answer: UpstreamAnswer, first: Buffer[] | undefined): boolean {
  const type = String(answer.headers['content-type'] ?? '').toLowerCase();
  if (type.startsWith('text/event-stream')) return true;
  if (type.includes('json')) return false;
  const start = first?.[0]?.subarray(0, 16).toString('latin1').trimStart() ?? '';
  return start.startsWith('data:') || start.startsWith('event:') || start.startsWith('id:') || start.startsWith(':');
}

/** @param cut give what fits, instead of failing, when the body is larger than the limit */
async function readText(
  answer: UpstreamAnswer,
  limitBytes: number,
  name: string,
  cut: boolean,
  first?: Buffer[],
): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for (let batch = first ?? (await answer.read()); batch !== undefined; batch = await answer.read()) {
    for (const piece of batch) {
      pieces.push(piece);
      bytes += piece.length;
    }
    if (bytes > limitBytes) {
      if (cut) break;
      throw new GatewayError('upstream_failed', `${name} sent more than ${limitBytes} bytes (upstream_body_limit).`, {
        retryable: true,
      });
    }
  }
  return pieces.length === 1 ? pieces[0]!.toString('utf8') : Buffer.concat(pieces).toString('utf8');
}

function parseWhole(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const what = text === '' ? 'an empty body' : /^\s*</.test(text) ? 'an HTML page' : 'a body that is not JSON';
    throw new GatewayError('upstream_failed', `${name} answered with ${what}.`, { retryable: true, cause });
  }
}

function parseIfJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
