import type { ImageChunk } from '../../domain/images.ts';
import type { Sink } from '../../domain/sink.ts';
import type { ImageUpstreamRequest, ImageWire } from '../../providers/image-wire.ts';
import type { UpstreamResponse } from '../../providers/transport.ts';
import type { ImageAttempt } from '../run/attempt.ts';
import { noteRequestId } from '../attempts/note-request-id.ts';
import { receive, takeKey, upstreamOf } from '../attempts/exchange.ts';
import { ImagePoller } from './image-poller.ts';
import { ImageResponseReader } from './image-response-reader.ts';
import type { ImageRun } from '../run/image-run.ts';
import { type ReadResponseOptions, readLocalFrames } from '../attempts/read-response.ts';
import { serializeImageBody } from './serialize-image-body.ts';

interface ExchangeOptions {
  limitBytes: number;
  stream: boolean;
}

/** The requests of one attempt: one, or several if the provider is polled. */
export class ImageExchange {
  private readonly owner: ImageRun;
  private readonly attempt: ImageAttempt;
  private readonly provider: ImageAttempt['endpoint']['provider'];
  private readonly wire: ImageWire;
  private readonly readError: NonNullable<ImageWire['readError']>;
  private readonly reader: ImageResponseReader;
  private readonly options: ExchangeOptions;

  constructor(owner: ImageRun, attempt: ImageAttempt, wire: ImageWire, options: ExchangeOptions) {
    this.owner = owner;
    this.attempt = attempt;
    this.provider = attempt.endpoint.provider;
    this.wire = wire;
    this.readError = wire.readError ?? attempt.wire.readError;
    this.reader = new ImageResponseReader(wire, this.provider.name);
    this.options = options;
  }

  async run(written: ImageUpstreamRequest, out: Sink<ImageChunk>): Promise<void> {
    const { wire, owner, provider } = this;
    const { cancellation } = owner;
    if (wire.send && wire.createReader) {
      const frames = wire.send(written, cancellation.signal);
      const how = { name: provider.name, limitBytes: this.options.limitBytes, cancellation };
      return readLocalFrames(wire.createReader(written.readerContext), frames, how, out);
    }
    upstreamOf(provider);
    const key = takeKey(this.attempt);
    const { body, contentType } = serializeImageBody(written.body);
    const headers = [...this.headersFor(key, contentType), ...Object.entries(written.headers ?? {}).flat()];
    written.body = {};
    await this.read(await this.send(written.path, headers, body), written.readerContext, out);
    const poller = new ImagePoller(provider, cancellation, this.readError, this.headersFor(key, undefined));
    for (let poll = this.reader.takePoll(); poll; poll = this.reader.takePoll()) {
      await this.read(await poller.poll(poll), written.readerContext, out);
    }
  }

  private send(path: string, headers: readonly string[], body: Buffer): Promise<UpstreamResponse> {
    const { upstream, imageFirstByteMs: firstByteMs } = this.provider;
    return upstream!.send(path, headers, body, this.owner.cancellation, { firstByteMs }); // `run` has checked it
  }

  private headersFor(key: number, contentType: string | undefined): string[] {
    const headers = this.provider.headersFor(key, this.options.stream);
    const kept: string[] = [];
    for (let at = 0; at < headers.length; at += 2) {
      if (headers[at] !== 'content-type') kept.push(headers[at]!, headers[at + 1]!);
    }
    return contentType === undefined ? kept : [...kept, 'content-type', contentType];
  }

  private async read(response: UpstreamResponse, readerContext: unknown, out: Sink<ImageChunk>): Promise<void> {
    const { provider, options, reader } = this;
    const { memory } = this.attempt;
    noteRequestId(this.attempt, response);
    const { limitBytes, stream } = options;
    let taken: Promise<void> | undefined;
    const how: ReadResponseOptions<ImageChunk> = {
      wire: reader,
      readerContext,
      name: provider.name,
      limitBytes,
      limitName: 'images.answer_limit',
      isBuffered: !stream,
      lift: (body) => reader.lift(body),
      onBuffered: (bytes) => memory.hold(bytes),
      onPassed: () => {
        if (stream) memory.free();
      },
    };
    await receive(response, how, this.readError, {
      write: (chunks) => {
        taken = reader.isPending ? undefined : out.write(chunks);
        return taken;
      },
    });
    await taken; // `receive` does not wait for the batch that contains the finish
  }
}
