import type { Cancellation } from '../../domain/cancellation.ts';
import { GatewayError } from '../../domain/errors.ts';
import type {
  CompletedImageChunk,
  EncodedImage,
  ImageChunk,
  ImageFinishChunk,
  ImageLinkChunk,
  PartialImageChunk,
} from '../../domain/images.ts';
import { findMediaType } from '../../domain/parse-image.ts';
import type { Sink } from '../../domain/sink.ts';
import { isCredible } from '../../domain/usage.ts';
import type { Provider } from '../../providers/provider.ts';
import type { ImageAttempt } from '../run/attempt.ts';
import type { ImageRun } from '../run/image-run.ts';
import { cleanName } from '../attempts/clean-names.ts';
import { readPieces } from '../attempts/read-response.ts';

/** How images are fetched and checked. */
export interface ImageCheckParts {
  /**
   * Fetches an image that a provider has stored on another host.
   *
   * @throws {GatewayError} `upstream_failed`
   */
  fetchImage: (url: URL, cancellation: Cancellation, limitBytes: number) => Promise<Buffer>;
  /**
   * Checks bytes that a provider sent as an image.
   *
   * @param name of the provider, for messages
   * @throws {GatewayError} `upstream_failed`
   */
  checkImage: (bytes: Buffer, name: string, cancellation: Cancellation) => EncodedImage | Promise<EncodedImage>;
}

/** The dependencies and the limits of one attempt. */
interface CheckParts extends ImageCheckParts {
  /** Bytes of all images that must be fetched. */
  limitBytes: number;
  /** Requested images. Further ones are not checked, returned or charged. */
  count: number;
}

/** The chunks of an image whose bytes have been checked. */
export type CheckedImageChunk = Unfinished | { type: 'image'; image: EncodedImage };

type Unfinished = Exclude<ImageChunk, CompletedImageChunk | ImageLinkChunk>;

/** Expected size of an image that must be fetched. */
const LINKED_BYTES = 1024 * 1024;

const isImage = (chunk: ImageChunk): chunk is CompletedImageChunk | ImageLinkChunk =>
  chunk.type === 'image' || chunk.type === 'image_link';

/** Whether a chunk is a partial image that may contain code. For other types, a check of the header is enough. */
const isDrawing = (chunk: ImageChunk): chunk is PartialImageChunk =>
  chunk.type === 'partial' && findMediaType(chunk.bytes) === 'image/svg+xml';

/** Whether the reported usage can be true. Impossible counts are dropped. */
const isTrue = ({ usage }: ImageFinishChunk): boolean => usage === undefined || isCredible(usage);

/** Checks every image before the client receives it, and fetches images that are links. */
export class ImageCheck implements Sink<ImageChunk> {
  private readonly run: ImageRun;
  private readonly attempt: ImageAttempt;
  private readonly provider: Provider;
  private readonly parts: CheckParts;
  private readonly out: Sink<CheckedImageChunk>;
  private pictures = 0;
  private surplus = 0;
  private isStopped = false;

  constructor(run: ImageRun, attempt: ImageAttempt, parts: CheckParts, out: Sink<CheckedImageChunk>) {
    this.run = run;
    this.attempt = attempt;
    this.provider = attempt.endpoint.provider;
    this.parts = parts;
    this.out = out;
  }

  write(chunks: ImageChunk[]): Promise<void> | undefined {
    if (chunks.some((chunk) => isImage(chunk) || isDrawing(chunk))) return this.takeImages(chunks);
    return this.out.write(chunks.map((chunk) => this.check(chunk as Unfinished))); // the batch has no image
  }

  /** Drops images that are still being checked after the attempt has ended, because another attempt may have begun. */
  stop(): void {
    this.isStopped = true;
  }

  /** Checks the images of a batch. Fetched images reserve memory like responses with images, and share one limit. */
  private async takeImages(chunks: ImageChunk[]): Promise<void> {
    if (chunks.some(({ type }) => type === 'image_link')) await this.waitForMemory();
    if (this.isStopped) return; // the attempt failed in the meantime, and its memory was released
    let left = this.parts.limitBytes;
    const checked: CheckedImageChunk[] = [];
    for (const chunk of chunks) {
      if (!isImage(chunk)) {
        checked.push(this.check(chunk));
        if (isDrawing(chunk)) await this.look(chunk.bytes);
        continue;
      }
      if (this.pictures === this.parts.count) {
        this.surplus++;
        continue;
      }
      const bytes = chunk.type === 'image' ? chunk.bytes : await this.fetch(chunk.url, left);
      if (chunk.type === 'image_link') left -= bytes.length;
      checked.push({ type: 'image', image: await this.look(bytes) });
      this.pictures++;
    }
    if (!this.isStopped) await this.out.write(checked);
  }

  /** @throws the reason of the cancellation when it occurs */
  private async waitForMemory(): Promise<void> {
    const { memory } = this.attempt;
    const { cancellation } = this.run;
    const place = memory.hold(LINKED_BYTES);
    if (!place) return;
    const listener = { cancelled: () => memory.free() }; // a cancelled waiter is released
    if (cancellation.reason) memory.free();
    else cancellation.add(listener);
    await place;
    cancellation.remove(listener);
    if (cancellation.reason) throw cancellation.reason;
  }

  private look(bytes: Buffer): EncodedImage | Promise<EncodedImage> {
    return this.parts.checkImage(bytes, this.provider.name, this.run.cancellation);
  }

  private check(chunk: Unfinished): CheckedImageChunk {
    switch (chunk.type) {
      case 'partial':
        if (!findMediaType(chunk.bytes)) throw this.failed('sent a partial image that is not an image');
        return chunk;
      case 'start':
        if (chunk.model !== undefined) this.attempt.upstreamModel = cleanName(chunk.model, this.provider);
        return chunk;
      case 'finish':
        if (this.pictures === 0) throw this.failed('finished without an image');
        this.attempt.finish = isTrue(chunk) ? chunk : { type: 'finish' };
        this.attempt.droppedUpstreamFields = [
          ...(chunk.dropped ?? []).map((name) => cleanName(name, this.provider)),
          ...(isTrue(chunk) ? [] : ['usage (cannot be true)']),
          ...(this.surplus > 0 ? [`${this.surplus} more images than were requested`] : []),
        ];
        return chunk;
      default:
        return chunk;
    }
  }

  private async fetch(text: string, limitBytes: number): Promise<Buffer> {
    const { provider } = this;
    const { cancellation } = this.run;
    const { fetchImage } = this.parts;
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (!url || !/^https?:$/.test(url.protocol)) throw this.failed('sent no valid URL for its image');
    const own = provider.upstream && provider.upstreamOf(url);
    if (!own || url.protocol === 'https:') return fetchImage(url, cancellation, limitBytes);
    // The operator's own server, on a host that other URLs must not name. The request has no key: the URL grants
    // access.
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
      if (answer.status !== 200) throw this.failed(`does not have its image: status ${answer.status}`);
      const pieces = await readPieces(answer, (bytes) => {
        if (bytes > limitBytes) throw this.failed('sent an image beyond images.answer_limit');
      });
      return Buffer.concat(pieces);
    } finally {
      answer.release();
    }
  }

  private failed(what: string): GatewayError {
    return new GatewayError('upstream_failed', `${this.provider.name} ${what}.`, { retryable: true });
  }
}
