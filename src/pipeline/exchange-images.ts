import { GatewayError } from '../domain/errors.ts';
import type { ImageChunk } from '../domain/images.ts';
import type { Sink } from '../domain/sink.ts';
import { extractImages, readExtracted } from '../providers/kit/image-text.ts';
import type { ImageUpstreamRequest, ImageWire, Poll } from '../providers/image-wire.ts';
import type { Wire } from '../providers/wire.ts';
import type { Provider } from '../providers/provider.ts';
import type { Upstream, UpstreamResponse } from '../providers/transport.ts';
import { writeForm } from '../providers/write-form.ts';
import type { ImageAttempt } from './attempt.ts';
import type { ByteShare } from './byte-budget.ts';
import { readFailure, receive, takeKey, upstreamOf } from './exchange.ts';
import { type ReadResponseOptions, readInside } from './read-response.ts';
import type { ImageRun } from './run.ts';
import { wait } from './wait.ts';

interface ExchangeOptions {
  memory: ByteShare;
  limitBytes: number;
  stream: boolean;
}

/** A wait between two questions is never shorter, whatever a wire says. Milliseconds. */
const MIN_WAIT_MS = 50;

/** Nor longer than a day, whatever a provider says. */
const LONGEST_WAIT_SECONDS = 86_400;

/** How often in a row a question may fail by what passes: the picture is being made, and paid for, all the same. */
const MAX_FAILED_QUESTIONS = 3;

/** Where a provider is asked whether it is done. */
interface Question {
  upstream: Upstream;
  path: string;
  method: 'GET' | 'POST';
}

/** The requests of one attempt: one, or as many as a provider that is polled takes. */
export class ImageExchange {
  private readonly owner: ImageRun;
  private readonly attempt: ImageAttempt;
  private readonly provider: Provider;
  private readonly wire: ImageWire;
  private readonly readError: Wire['readError'];
  private readonly options: ExchangeOptions;
  private poll: Poll | undefined;
  /** What was taken out of the answer before it was parsed. */
  private texts: readonly Buffer[] = [];

  constructor(owner: ImageRun, attempt: ImageAttempt, wire: ImageWire, options: ExchangeOptions) {
    this.owner = owner;
    this.attempt = attempt;
    this.provider = attempt.endpoint.provider;
    this.wire = wire;
    this.readError = wire.readError ?? this.provider.wire.readError;
    this.options = options;
  }

  async run(written: ImageUpstreamRequest, out: Sink<ImageChunk>): Promise<void> {
    const { wire, owner, provider } = this;
    const { cancellation } = owner;
    if (wire.answerImage && wire.createImageReader) {
      const frames = wire.answerImage(written, cancellation.signal);
      const how = { name: provider.name, limitBytes: this.options.limitBytes, cancellation };
      return readInside(wire.createImageReader(written.readerContext), frames, how, out);
    }
    upstreamOf(provider);
    const key = takeKey(this.attempt);
    const { body, contentType } = writeBody(written.body);
    const headers = [...this.headersFor(key, contentType), ...Object.entries(written.headers ?? {}).flat()];
    written.body = {};
    await this.read(await this.send(written.path, headers, body), written.readerContext, out);
    const asking = this.headersFor(key, undefined);
    let question: Question | undefined;
    for (let poll = this.poll; poll; poll = this.poll) {
      this.poll = undefined;
      question = this.aim(poll, question);
      await this.read(await this.ask(question, poll.afterMs, asking), written.readerContext, out);
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
    let waitMs = Math.max(MIN_WAIT_MS, afterMs);
    for (let failures = 0; ; failures++) {
      await wait(waitMs, this.owner.cancellation);
      waitMs *= 2;
      const isLast = failures === MAX_FAILED_QUESTIONS;
      try {
        const answer = await upstream.send(path, headers, Buffer.alloc(0), this.owner.cancellation, { method });
        if (isLast || (answer.status !== 429 && answer.status < 500)) return answer;
        waitMs = Math.max(waitMs, await this.readWait(answer));
      } catch (error) {
        if (isLast || !(error instanceof GatewayError) || !error.retryable) throw error;
      }
    }
  }

  /** Milliseconds that the provider wants to be left alone; 0 when it does not say. The deadline of the run ends every wait. */
  private async readWait(answer: UpstreamResponse): Promise<number> {
    try {
      return Math.min((await readFailure(answer, this.readError)).retryAfterSeconds ?? 0, LONGEST_WAIT_SECONDS) * 1000;
    } finally {
      answer.release();
    }
  }

  private send(path: string, headers: readonly string[], body: Buffer): Promise<UpstreamResponse> {
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

  private async read(answer: UpstreamResponse, readerContext: unknown, out: Sink<ImageChunk>): Promise<void> {
    const { provider, options } = this;
    const { limitBytes, stream, memory } = options;
    let taken: Promise<void> | undefined;
    const how: ReadResponseOptions<ImageChunk> = {
      wire: {
        createReader: (known) => this.createReader(known),
        readWhole: (body, known) => this.readWhole(body, known),
      },
      readerContext,
      name: provider.name,
      limitBytes,
      limitName: 'images.answer_limit',
      isBuffered: !stream,
      lift: (body) => this.lift(body),
      hold: (bytes) => memory.hold(bytes),
      passed: () => {
        if (stream) memory.free();
      },
    };
    await receive(answer, how, this.readError, {
      write: (chunks) => {
        taken = this.poll ? undefined : out.write(chunks);
        return taken;
      },
    });
    await taken; // with the finish the response is released, and nothing has waited for what came with it
  }

  private createReader(readerContext: unknown) {
    const reader = this.wire.createImageReader?.(readerContext);
    if (reader) return reader;
    throw new GatewayError('upstream_failed', `${this.provider.name} sent a stream that nobody asked for.`, {
      retryable: true,
    });
  }

  private lift(pieces: readonly Buffer[]): Buffer {
    const body = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0)); // shared with nobody
    let length = 0;
    for (const piece of pieces) length += piece.copy(body, length);
    const { json, texts } = extractImages(body);
    this.texts = texts;
    return json;
  }

  /** An answer that is to be asked for again has ended, too. */
  private readWhole(body: unknown, readerContext: unknown): ImageChunk[] {
    const texts = this.texts;
    this.texts = [];
    const read = readExtracted(texts, () => this.wire.readWholeImage(body, readerContext));
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
