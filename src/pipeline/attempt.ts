import { performance } from 'node:perf_hooks'; // the global is a getter
import type { Chunk } from '../domain/chunks.ts';
import { GatewayError } from '../domain/errors.ts';
import type { ResponseRequest } from '../domain/request.ts';
import type { Sink } from '../domain/sink.ts';
import type { Usage } from '../domain/usage.ts';
import type { UpstreamRequest, Wire } from '../providers/provider.ts';
import type { Endpoint, Provider } from '../providers/provider-entry.ts';
import { Needs } from '../routing/needs.ts';
import { shortenForDebug } from './debug-body.ts';
import { fitRequest } from './fit-request.ts';
import { explainMissingPath } from './explain-missing-path.ts';
import { hideKeys } from './hide-keys.ts';
import { inlineUrls, type MediaSource } from './inline-urls.ts';
import { parkInput, unparkInput } from './park-input.ts';
import { readResponse, readErrorBody, readInside } from './read-response.ts';
import type { Run, RunBase } from './run.ts';

/** What an attempt needs besides the run. */
export interface AttemptParts {
  media: () => MediaSource;
  /** Told before anything goes out. @throws {GatewayError} when it must not */
  begin?: ((run: Run, endpoint: Endpoint) => void) | undefined;
}

/**
 * One try on an endpoint: writes the request, sends it, reads the answer into chunks, a batch for each network read.
 *
 * @param parts.limitBytes the largest whole answer, or single stream event, that is read
 * @param out is given chunks up to exactly one `finish`
 * @throws {GatewayError} whatever went wrong; `retryable` when another endpoint may do better
 */
export async function attempt(
  run: Run,
  endpoint: Endpoint,
  parts: AttemptParts & { limitBytes: number },
  out: Sink<Chunk>,
): Promise<void> {
  const { wire, finder } = endpoint.provider;
  try {
    await attemptBy(wire, run, endpoint, parts, out);
  } catch (error) {
    if (!(error instanceof GatewayError) || error.kind !== 'upstream_path_missing') throw error;
    const other = await finder?.findOther(wire);
    if (!other) throw explainMissingPath(error, endpoint.provider, wire);
    await attemptBy(other, run, endpoint, { ...parts, begin: undefined }, out); // it has begun
  }
}

async function attemptBy(
  wire: Wire,
  run: Run,
  endpoint: Endpoint,
  parts: AttemptParts & { limitBytes: number },
  out: Sink<Chunk>,
): Promise<void> {
  const { provider } = endpoint;
  resetAttempt(run);
  run.finish = undefined;
  run.counted = undefined;
  const made = write(run, endpoint, wire, parts.media);
  const written = made instanceof Promise ? await made : made;
  if (run.request.stream === true && run.request.debug?.echo_upstream_body) {
    await out.write([{ type: 'debug', upstreamBody: shortenForDebug(written.body) }]);
  }
  if (run.media && run.plan?.endpoints.at(-1) === endpoint) run.media = undefined; // nobody comes after it
  parts.begin?.(run, endpoint);
  run.dispatchedAt = performance.now();
  try {
    await exchange(run, provider, wire, written, parts.limitBytes, new ChunkNotes(run, out));
  } catch (error) {
    throw hideKeys(error, provider);
  } finally {
    run.upstreamEndedAt = performance.now();
  }
}

/** The request as the endpoint takes it. A function of its own: nothing of it is held while the provider works. */
function write(
  run: Run,
  endpoint: Endpoint,
  wire: Wire,
  media: () => MediaSource,
): UpstreamRequest | Promise<UpstreamRequest> {
  const { provider, upstreamModel } = endpoint;
  const name = `${endpoint.model} at ${provider.name}`;
  unparkInput(run);
  const choice = run.plan?.choiceOf(endpoint);
  const asked = choice?.rewrite ? choice.rewrite(run.request) : run.request;
  const { request: fitted, changed } = fitRequest(asked, endpoint, choice?.isAlias === true);
  run.hasLateTools = asked.tools !== undefined && asked.input.some(({ type }) => type === 'additional_tools');
  const translate = (request: ResponseRequest): UpstreamRequest => {
    const written = wire.writeRequest(request, {
      endpoint: name,
      upstreamModel,
      stream: run.request.stream === true,
      dialect: provider.dialect,
      ...(run.endUser === undefined ? undefined : { endUser: run.endUser }),
    });
    run.droppedFields = changed.length === 0 ? written.dropped : [...changed, ...written.dropped];
    const { characters, images } = new Needs(request);
    run.sent = { characters, images };
    return written;
  };
  return endpoint.needsData ? inlineUrls(run, fitted, name, media()).then(translate) : translate(fitted);
}

/** What an earlier attempt has said is not true of the next one. */
export function resetAttempt(run: RunBase): void {
  run.upstreamModel = undefined;
  run.key = undefined;
  run.droppedUpstreamFields = [];
  run.upstreamEndedAt = undefined;
}

/** Writes down for the run what the chunks say of the answer as a whole. */
class ChunkNotes implements Sink<Chunk> {
  private readonly run: Run;
  private readonly out: Sink<Chunk>;

  constructor(run: Run, out: Sink<Chunk>) {
    this.run = run;
    this.out = out;
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    for (const chunk of chunks) {
      if (chunk.type === 'finish') {
        this.run.finish = chunk;
        if (chunk.dropped) this.run.droppedUpstreamFields = chunk.dropped;
      } else if (chunk.type === 'start' && chunk.model !== undefined) this.run.upstreamModel = chunk.model;
    }
    return this.out.write(chunks);
  }
}

/** A body that is on its way as bytes. */
const sent = {};

async function exchange(
  run: Run,
  provider: Provider,
  wire: Wire,
  written: UpstreamRequest,
  limitBytes: number,
  out: Sink<Chunk>,
): Promise<void> {
  const { upstream, name } = provider;
  const { cancellation } = run;
  const stream = run.request.stream === true;
  const broken = (counted: Usage | undefined): void => {
    run.counted = counted;
  };
  if (wire.answer) {
    const frames = wire.answer(written, cancellation.signal);
    return readInside(wire.createReader(written.readerContext), frames, { name, cancellation, broken }, out);
  }
  if (!upstream) throw new GatewayError('internal', `The provider ${provider.id} has no address.`);
  const key = provider.keys.take();
  run.key = key;
  const headers = provider.headersFor(key, stream);
  const all = written.headers ? headers.concat(Object.entries(written.headers).flat()) : headers;
  const body = Buffer.from(JSON.stringify(written.body));
  written.body = sent;
  parkInput(run);
  const answer = await upstream.send(written.path, all, body, cancellation);
  try {
    if (answer.status < 200 || answer.status > 299) {
      throw wire.readError({ status: answer.status, headers: answer.headers, body: await readErrorBody(answer) });
    }
    await readResponse(
      answer,
      { wire, readerContext: written.readerContext, name, limitBytes, isBuffered: !stream, broken },
      out,
    );
  } finally {
    answer.release();
  }
}
