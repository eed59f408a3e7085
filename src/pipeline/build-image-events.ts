import { performance } from 'node:perf_hooks'; // the global is a getter
import { currentTimeMs } from '../domain/clock.ts';
import { ImageDigest } from '../domain/image-digest.ts';
import type { ImageEvent } from '../domain/image-events.ts';
import type { EncodedImage } from '../domain/images.ts';
import type { MaybePromise } from '../domain/maybe-promise.ts';
import type { Sink } from '../domain/sink.ts';
import type { CheckedImageChunk } from './image-check.ts';
import type { ImageRun } from './image-run.ts';
import { writeImageUsage } from './image-usage.ts';
import { createRouterMetadata } from './router-metadata.ts';
import { isLogged } from './run.ts';
import type { AttemptSink } from './run-kind.ts';
import { committedOf } from './step.ts';

/** How a generation ends. */
export interface ImageEventParts {
  region: string;
  /** Called once, when all of it is there: records the run. */
  close: () => MaybePromise<void>;
}

/**
 * Chunks to events. The last picture waits for the end of the answer, since it carries the usage; the run is booked
 * before the client can have it.
 */
export class ImageEventStage implements Sink<CheckedImageChunk>, AttemptSink<CheckedImageChunk> {
  private readonly run: ImageRun;
  private readonly parts: ImageEventParts;
  private readonly client: Sink<ImageEvent>;
  private last: EncodedImage | undefined;

  constructor(run: ImageRun, parts: ImageEventParts, client: Sink<ImageEvent>) {
    this.run = run;
    this.parts = parts;
    this.client = client;
  }

  /** Every attempt of the run writes here. */
  get first(): Sink<CheckedImageChunk> {
    return this;
  }

  get isFinished(): boolean {
    return this.run.isComplete;
  }

  /** Nothing is held back here. */
  abandon(): void {}

  write(chunks: CheckedImageChunk[]): Promise<void> | undefined {
    const step = this.run.steps.at(-1)!; // it is being made
    step.committed ??= step.attempts.at(-1);
    this.run.firstOutputAt ??= performance.now();
    const events = chunks.flatMap((chunk) => this.build(chunk));
    if (events.length === 0) return undefined;
    const { recorded } = this.run;
    return recorded ? recorded.then(() => this.client.write(events)) : this.client.write(events);
  }

  private build(chunk: CheckedImageChunk): ImageEvent[] {
    switch (chunk.type) {
      case 'start':
        return [];
      case 'partial':
        return [{ type: 'image_generation.partial_image', bytes: chunk.bytes, partial_image_index: chunk.index }];
      case 'text':
        return [{ type: 'image_generation.text_chunk', text: chunk.text, phase: chunk.phase }];
      case 'image': {
        const { image } = chunk;
        const before = this.last;
        this.last = image;
        this.note(image);
        return before ? [completed(before)] : [];
      }
      case 'finish':
        return this.finish();
    }
  }

  private note(image: EncodedImage): void {
    const { width, height } = image;
    committedOf(this.run)?.made.push({
      width,
      height,
      ...(isLogged(this.run) && { digest: new ImageDigest(image) }),
    });
  }

  private finish(): ImageEvent[] {
    const { run, last } = this;
    const { close, region } = this.parts;
    if (!last) return []; // the check of pictures has refused such an answer
    this.last = undefined;
    run.isComplete = true;
    close();
    const attempt = committedOf(run);
    const usage = writeImageUsage(attempt?.finish?.usage, run.cost, attempt?.endpoint.workspace !== undefined);
    const routerMetadata = createRouterMetadata(run, region);
    return [
      {
        ...completed(last),
        isLast: true,
        ...(usage && { usage }),
        ...(routerMetadata && { routerMetadata }),
      },
    ];
  }
}

const completed = (image: EncodedImage) => ({
  type: 'image_generation.completed' as const,
  image,
  created: Math.floor(currentTimeMs() / 1000),
  isLast: false,
});
