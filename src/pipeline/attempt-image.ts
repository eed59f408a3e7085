import { performance } from 'node:perf_hooks'; // the global is a getter
import type { Cancellation } from '../domain/cancellation.ts';
import { GatewayError } from '../domain/errors.ts';
import type { CompletedImageChunk, ImageChunk, ImageLinkChunk, PartialImageChunk, Picture } from '../domain/images.ts';
import { findMediaType } from '../domain/picture.ts';
import type { Taker } from '../domain/taker.ts';
import type { ImageUpstreamRequest, ImageWire, Poll } from '../providers/image-wire.ts';
import { liftPictures, readLifted } from '../providers/picture-text.ts';
import type { Endpoint, Provider } from '../providers/provider-entry.ts';
import type { Upstream, UpstreamAnswer } from '../providers/transport.ts';
import { writeForm } from '../providers/write-form.ts';
import { forgetAttempt } from './attempt.ts';
import type { ByteShare } from './byte-budget.ts';
import { fitImage } from './fit-image.ts';
import { hideKeys } from './hide-keys.ts';
import { readAnswer, readErrorBody, readInside } from './read-answer.ts';
import type { ImageRun } from './run.ts';

/** What an attempt needs besides the run. */
export interface ImageAttemptParts {
  /** The memory that the run's answer takes. */
  memory: ByteShare;
  /** Told before anything goes out. @throws {GatewayError} when it must not */
  begin?: ((run: ImageRun, endpoint: Endpoint) => void) | undefined;
  /**
   * Fetches a picture that a provider has put on another host.
   *
   * @throws {GatewayError} `upstream_failed`
   */
  fetchPicture: (url: URL, cancellation: Cancellation, limitBytes: number) => Promise<Buffer>;
  /**
   * Looks at bytes that a provider says are a picture.
   *
   * @param name of the provider, for messages
   * @throws {GatewayError} `upstream_failed`
   */
  checkPicture: (bytes: Buffer, name: string, cancellation: Cancellation) => Picture | Promise<Picture>;
}

/** The chunks of a picture whose bytes have been looked at. */
export type CheckedChunk = Unfinished | { type: 'image'; picture: Picture };

/**
 * One try on an endpoint: fits and writes the request, sends it, asks again where the provider wants to be polled, and
 * reads the answer into chunks. What comes out are pictures: bytes that are none fail the attempt.
 *
 * @param limitBytes the largest whole answer, or single stream event, that is read
 * @param out is given chunks up to exactly one `finish`
 * @throws {GatewayError} whatever went wrong; `retryable` when another endpoint may do better
 */
export async function attemptImage(
  run: ImageRun,
  endpoint: Endpoint,
  limitBytes: number,
  parts: ImageAttemptParts,
  out: Taker<CheckedChunk>,
): Promise<void> {
  const { provider, upstreamModel, image: facts } = endpoint;
  const wire = provider.wire.image;
  const name = `${endpoint.model} at ${provider.name}`;
  if (!wire || !facts) throw new GatewayError('wrong_endpoint', `${name} makes no pictures.`, { retryable: true });
  forgetAttempt(run);
  run.finish = undefined;
  parts.memory.free(); // of what an earlier attempt held, nothing is left
  const { ask, clamped, dropped } = fitImage(run.request, run.references, endpoint, facts);
  const stream = run.request.stream === true && facts.streams && wire.createImageReader !== undefined;
  const written = wire.writeImageRequest(ask, {
    endpoint: name,
    upstreamModel,
    stream,
    dialect: provider.dialect,
    ...(run.endUser === undefined ? undefined : { endUser: run.endUser }),
    ...(endpoint.makesText ? undefined : { picturesOnly: true }),
  });
  run.fitted = clamped;
  run.droppedFields = [...dropped, ...written.dropped];
  parts.begin?.(run, endpoint);
  run.dispatchedAt = performance.now();
  const exchange = new ImageExchange(run, provider, wire, { ...parts, limitBytes, stream });
  const check = new PictureCheck(run, provider, { ...parts, limitBytes }, out);
  try {
    await exchange.run(written, check);
  } catch (error) {
    throw hideKeys(error, provider);
  } finally {
    check.stop();
    run.upstreamEndedAt = performance.now();
  }
}

interface ExchangeOptions extends ImageAttemptParts {
  limitBytes: number;
  stream: boolean;
}

/** A wait between two questions is never shorter, whatever a wire says. Milliseconds. */
const LEAST_WAIT_MS = 50;

/** How often in a row a question may fail by what passes: the picture is being made, and paid for, all the same. */
const MOST_FAILED_QUESTIONS = 3;

/** What a picture is expected to take that lies elsewhere. */
const LINKED_BYTES = 1024 * 1024;

/** Where a provider is asked whether it is done. */
interface Question {
  upstream: Upstream;
  path: string;
  method: 'GET' | 'POST';
}

/** The requests of one attempt: one, or as many as a provider that is polled takes. */
class ImageExchange {
  private readonly owner: ImageRun;
  private readonly provider: Provider;
  private readonly wire: ImageWire;
  private readonly options: ExchangeOptions;
  private poll: Poll | undefined;
  /** What was taken out of the answer before it was parsed. */
  private texts: readonly Buffer[] = [];

  constructor(owner: ImageRun, provider: Provider, wire: ImageWire, options: ExchangeOptions) {
    this.owner = owner;
    this.provider = provider;
    this.wire = wire;
    this.options = options;
  }

  async run(written: ImageUpstreamRequest, out: Taker<ImageChunk>): Promise<void> {
    const { wire, owner, provider } = this;
    const { cancellation } = owner;
    if (wire.answerImage && wire.createImageReader) {
      const frames = wire.answerImage(written, cancellation.signal);
      return readInside(wire.createImageReader(written.reading), frames, { name: provider.name, cancellation }, out);
    }
    if (!provider.upstream) throw new GatewayError('internal', `The provider ${provider.id} has no address.`);
    const key = provider.keys.take();
    owner.key = key;
    const { body, contentType } = writeBody(written.body);
    const headers = [...this.headersFor(key, contentType), ...Object.entries(written.headers ?? {}).flat()];
    written.body = {};
    await this.read(await this.send(written.path, headers, body), written.reading, out);
    const asking = this.headersFor(key, undefined);
    let question: Question | undefined;
    for (let poll = this.poll; poll; poll = this.poll) {
      this.poll = undefined;
      question = this.aim(poll, question);
      await this.read(await this.ask(question, poll.afterMs, asking), written.reading, out);
    }
  }

  /** @throws {GatewayError} when it leads to a host that is not the provider's */
  private aim({ method = 'GET', path, url }: Poll, before: Question | undefined): Question {
    const { provider } = this;
    if (url === undefined) {
      if (path === undefined && before) return { ...before, method };
      return { upstream: provider.upstream!, path: path ?? '', method }; // `run` has looked
    }
    const target = URL.canParse(url) ? new URL(url) : undefined;
    const upstream = target && provider.upstreamOf(target);
    if (upstream) return { upstream, path: target.pathname + target.search, method };
    const text = `${provider.name} wants to be asked again at another host; the key does not go there.`;
    throw new GatewayError('upstream_failed', text, { retryable: true });
  }

  /** Waits and asks; a provider that is busy for a moment is asked again, later. */
  private async ask({ upstream, path, method }: Question, afterMs: number, headers: readonly string[]) {
    let waitMs = Math.max(LEAST_WAIT_MS, afterMs);
    for (let failures = 0; ; failures++) {
      await wait(waitMs, this.owner);
      waitMs *= 2;
      const isLast = failures === MOST_FAILED_QUESTIONS;
      try {
        const answer = await upstream.send(path, headers, Buffer.alloc(0), this.owner.cancellation, { method });
        if (isLast || (answer.status !== 429 && answer.status < 500)) return answer;
        answer.release();
      } catch (error) {
        if (isLast || !(error instanceof GatewayError) || !error.retryable) throw error;
      }
    }
  }

  private send(path: string, headers: readonly string[], body: Buffer): Promise<UpstreamAnswer> {
    const { upstream, imageFirstByteMs: firstByteMs } = this.provider;
    return upstream!.send(path, headers, body, this.owner.cancellation, { firstByteMs }); // `run` has looked
  }

  private headersFor(key: number, contentType: string | undefined): string[] {
    const headers = this.provider.headersFor(key, this.options.stream);
    const kept: string[] = [];
    for (let at = 0; at < headers.length; at += 2) {
      if (headers[at] !== 'content-type') kept.push(headers[at]!, headers[at + 1]!);
    }
    return contentType === undefined ? kept : [...kept, 'content-type', contentType];
  }

  private async read(answer: UpstreamAnswer, reading: unknown, out: Taker<ImageChunk>): Promise<void> {
    const { wire, provider, options } = this;
    const { limitBytes, stream, memory } = options;
    let taken: Promise<void> | undefined;
    try {
      if (answer.status < 200 || answer.status > 299) {
        const read = wire.readError ?? provider.wire.readError;
        throw read({ status: answer.status, headers: answer.headers, body: await readErrorBody(answer) });
      }
      await readAnswer<ImageChunk>(
        answer,
        {
          wire: {
            createReader: (known) => this.createReader(known),
            readWhole: (body, known) => this.readWhole(body, known),
          },
          reading,
          name: provider.name,
          limitBytes,
          limitName: 'images.answer_limit',
          isHeld: !stream,
          lift: (body) => this.lift(body),
          hold: (bytes) => memory.hold(bytes),
          passed: () => {
            if (stream) memory.free();
          },
        },
        {
          take: (chunks) => {
            taken = this.poll ? undefined : out.take(chunks);
            return taken;
          },
        },
      );
      await taken; // with the finish the answer is let go, and nobody has waited for what came with it
    } finally {
      answer.release();
    }
  }

  private createReader(reading: unknown) {
    const reader = this.wire.createImageReader?.(reading);
    if (reader) return reader;
    throw new GatewayError('upstream_failed', `${this.provider.name} sent a stream that nobody asked for.`, {
      retryable: true,
    });
  }

  private lift(pieces: readonly Buffer[]): Buffer {
    const body = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0)); // shared with nobody
    let length = 0;
    for (const piece of pieces) length += piece.copy(body, length);
    const { json, texts } = liftPictures(body);
    this.texts = texts;
    return json;
  }

  /** An answer that is to be asked for again has ended, too. */
  private readWhole(body: unknown, reading: unknown): ImageChunk[] {
    const texts = this.texts;
    this.texts = [];
    const read = readLifted(texts, () => this.wire.readWholeImage(body, reading));
    // The bytes of the answer are let go now: megabytes that wait for the collector tear holes into the memory of the process.
    (texts[0]?.buffer as ArrayBuffer | undefined)?.transfer(0); // a body that `lift` made, and of which nothing is left
    if (Array.isArray(read)) return read;
    this.poll = read;
    return [{ type: 'finish' }];
  }
}

function writeBody(body: ImageUpstreamRequest['body']): { body: Buffer; contentType: string } {
  if (Array.isArray(body)) return writeForm(body);
  return { body: Buffer.from(JSON.stringify(body)), contentType: 'application/json' };
}

/** @throws the reason of the cancellation, as soon as it comes */
function wait(ms: number, { cancellation }: ImageRun): Promise<void> {
  return new Promise((resolve, reject) => {
    if (cancellation.reason) return reject(cancellation.reason);
    const listener = {
      cancelled(reason: GatewayError) {
        clearTimeout(timer);
        reject(reason);
      },
    };
    const timer = setTimeout(() => {
      cancellation.remove(listener);
      resolve();
    }, ms);
    cancellation.add(listener);
  });
}

type Unfinished = Exclude<ImageChunk, CompletedImageChunk | ImageLinkChunk>;

const isPicture = (chunk: ImageChunk): chunk is CompletedImageChunk | ImageLinkChunk =>
  chunk.type === 'image' || chunk.type === 'image_link';

/** A partial picture that may hold code; of others the head tells enough. */
const isDrawing = (chunk: ImageChunk): chunk is PartialImageChunk =>
  chunk.type === 'partial' && findMediaType(chunk.bytes) === 'image/svg+xml';

/** Looks at every picture before anybody sees it, and fetches those that lie elsewhere. */
class PictureCheck implements Taker<ImageChunk> {
  private readonly run: ImageRun;
  private readonly provider: Provider;
  private readonly parts: ImageAttemptParts & { limitBytes: number };
  private readonly out: Taker<CheckedChunk>;
  private pictures = 0;
  private isStopped = false;

  constructor(
    run: ImageRun,
    provider: Provider,
    parts: ImageAttemptParts & { limitBytes: number },
    out: Taker<CheckedChunk>,
  ) {
    this.run = run;
    this.provider = provider;
    this.parts = parts;
    this.out = out;
  }

  take(chunks: ImageChunk[]): Promise<void> | undefined {
    if (chunks.some((chunk) => isPicture(chunk) || isDrawing(chunk))) return this.takePictures(chunks);
    return this.out.take(chunks.map((chunk) => this.check(chunk as Unfinished))); // none is a picture
  }

  /** The attempt has ended: what is still being looked at is let go, since another attempt may have begun. */
  stop(): void {
    this.isStopped = true;
  }

  /** Pictures that lie elsewhere take their memory as the answers do that hold theirs, and share one limit. */
  private async takePictures(chunks: ImageChunk[]): Promise<void> {
    if (chunks.some(({ type }) => type === 'image_link')) await this.waitForMemory();
    let left = this.parts.limitBytes;
    const checked: CheckedChunk[] = [];
    for (const chunk of chunks) {
      if (!isPicture(chunk)) {
        checked.push(this.check(chunk));
        if (isDrawing(chunk)) await this.look(chunk.bytes);
        continue;
      }
      const bytes = chunk.type === 'image' ? chunk.bytes : await this.fetch(chunk.url, left);
      if (chunk.type === 'image_link') left -= bytes.length;
      checked.push({ type: 'image', picture: await this.look(bytes) });
      this.pictures++;
    }
    if (!this.isStopped) await this.out.take(checked);
  }

  /** @throws the reason of the cancellation, as soon as it comes */
  private async waitForMemory(): Promise<void> {
    const { memory } = this.parts;
    const { cancellation } = this.run;
    const place = memory.hold(LINKED_BYTES);
    if (!place) return;
    const listener = { cancelled: () => memory.free() }; // one who waits no more is let go
    if (cancellation.reason) memory.free();
    else cancellation.add(listener);
    await place;
    cancellation.remove(listener);
    if (cancellation.reason) throw cancellation.reason;
  }

  private look(bytes: Buffer): Picture | Promise<Picture> {
    return this.parts.checkPicture(bytes, this.provider.name, this.run.cancellation);
  }

  private check(chunk: Unfinished): CheckedChunk {
    switch (chunk.type) {
      case 'partial':
        if (!findMediaType(chunk.bytes)) throw this.failed('sent a partial picture that is none');
        return chunk;
      case 'start':
        this.run.upstreamModel = chunk.model;
        return chunk;
      case 'finish':
        if (this.pictures === 0) throw this.failed('finished without a picture');
        this.run.finish = chunk;
        this.run.droppedUpstreamFields = chunk.dropped ?? [];
        return chunk;
      default:
        return chunk;
    }
  }

  private async fetch(text: string, limitBytes: number): Promise<Buffer> {
    const { provider } = this;
    const { cancellation } = this.run;
    const { fetchPicture } = this.parts;
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url || !/^https?:$/.test(url.protocol)) throw this.failed('named no address for its picture');
    const own = provider.upstream && provider.upstreamOf(url);
    if (!own || url.protocol === 'https:') return fetchPicture(url, cancellation, limitBytes);
    // A server of the operator's own, on a host that nobody else may be sent to. It gets no key: the address is the right to it.
    const answer = await own.send(
      url.pathname + url.search,
      ['user-agent', 'headgate'],
      Buffer.alloc(0),
      cancellation,
      {
        method: 'GET',
      },
    );
    try {
      if (answer.status !== 200) throw this.failed(`does not have its picture: status ${answer.status}`);
      return await readBytes(answer, limitBytes, () => this.failed('sent a picture beyond images.answer_limit'));
    } finally {
      answer.release();
    }
  }

  private failed(what: string): GatewayError {
    return new GatewayError('upstream_failed', `${this.provider.name} ${what}.`, { retryable: true });
  }
}

async function readBytes(answer: UpstreamAnswer, limitBytes: number, tooLarge: () => GatewayError): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  await answer.each({
    take(batch) {
      for (const piece of batch) {
        pieces.push(piece);
        bytes += piece.length;
      }
      if (bytes > limitBytes) throw tooLarge();
      return undefined;
    },
  });
  return Buffer.concat(pieces);
}
