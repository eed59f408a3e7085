import { performance } from 'node:perf_hooks'; // the global is a getter
import type { Chunk, FinishChunk } from '../domain/chunks.ts';
import { GatewayError } from '../domain/errors.ts';
import type { UpstreamRequest } from '../providers/provider.ts';
import type { Endpoint, Provider } from '../providers/provider-entry.ts';
import { copyError } from './copy-error.ts';
import { shortenForDebug } from './debug-body.ts';
import { readAnswer, readErrorBody, readInside } from './read-answer.ts';
import type { Run } from './run.ts';

/**
 * One try on an endpoint: writes the request, sends it, reads the answer into chunks, a batch for each network read.
 *
 * @param limitBytes the largest whole answer, or single stream event, that is read
 * @returns after exactly one `finish` chunk
 * @throws {GatewayError} whatever went wrong; `retryable` when another endpoint may do better
 */
export async function* attempt(run: Run, endpoint: Endpoint, limitBytes: number): AsyncGenerator<Chunk[]> {
  const { provider, upstreamModel } = endpoint;
  const { request } = run;
  const stream = request.stream === true;
  const name = `${endpoint.model} at ${provider.name}`;
  forgetLast(run);
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
  run.dispatchedAt = performance.now();
  try {
    let finished = false;
    for await (const chunks of exchange(run, provider, written, limitBytes)) {
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
  } catch (error) {
    throw hideKeys(error, provider);
  } finally {
    run.upstreamEndedAt = performance.now();
  }
}

/** What an earlier attempt has said is not true of this one. */
function forgetLast(run: Run): void {
  run.upstreamModel = undefined;
  run.droppedUpstreamFields = [];
  run.finish = undefined;
  run.upstreamEndedAt = undefined;
}

function noteFinish(run: Run, finish: FinishChunk): void {
  run.finish = finish;
  if (finish.dropped) run.droppedUpstreamFields = finish.dropped;
}

async function* exchange(
  run: Run,
  provider: Provider,
  written: UpstreamRequest,
  limitBytes: number,
): AsyncGenerator<Chunk[]> {
  const { wire, upstream, name } = provider;
  const { signal } = run;
  const stream = run.request.stream === true;
  if (wire.answer) {
    yield* readInside(wire.createReader(written.reading), wire.answer(written, signal), name, signal);
    return;
  }
  if (!upstream) throw new GatewayError('internal', `The provider ${provider.id} has no address.`);
  const headers = provider.nextHeaders(stream);
  const all = written.headers ? headers.concat(Object.entries(written.headers).flat()) : headers;
  const answer = await upstream.send(written.path, all, JSON.stringify(written.body), signal);
  try {
    if (answer.status < 200 || answer.status > 299) {
      throw wire.readError({ status: answer.status, headers: answer.headers, body: await readErrorBody(answer) });
    }
    yield* await readAnswer(answer, { wire, reading: written.reading, name, limitBytes, isHeld: !stream });
  } finally {
    answer.release();
  }
}

/** Some providers repeat the key they refuse; it is the operator's, and no business of the caller. */
function hideKeys(error: unknown, provider: Provider): unknown {
  if (!(error instanceof GatewayError)) return error;
  const { providerCode } = error;
  const message = provider.maskKeys(error.message);
  const code = typeof providerCode === 'string' ? provider.maskKeys(providerCode) : providerCode;
  return message === error.message && code === providerCode
    ? error
    : copyError(error, message, { providerCode: code, cause: undefined });
}
