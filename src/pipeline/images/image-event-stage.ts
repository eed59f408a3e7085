import { performance } from 'node:perf_hooks'; // the global is a getter
import { currentTimeMs } from '../../domain/clock.ts';
import type { ImageEvent } from '../../domain/image-events.ts';
import type { EncodedImage } from '../../domain/images.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import type { Sink } from '../../domain/sink.ts';
import type { CheckedImageChunk } from './image-check.ts';
import type { ImageRun } from '../run/image-run.ts';
import { writeImageUsage } from './image-usage.ts';
import { noteImage } from './note-image.ts';
import { createRouterMetadata } from '../run/router-metadata.ts';
import type { AttemptSink } from '../run/run-kind.ts';
import { committedOf } from '../run/step.ts';

export interface ImageEventParts {
  region: string;
  /** Records the run. Called once, when the response is complete. */
  close: () => MaybePromise<void>;
}

/**
 * Turns chunks into events. The last image is buffered until the end of the response, because its event carries the
 * usage. The run is recorded before that event is sent.
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

  /** Does nothing: the first chunk commits the attempt, so no other attempt follows. */
  abandon(): void {}

  write(chunks: CheckedImageChunk[]): Promise<void> | undefined {
    const step = this.run.steps.at(-1)!; // it is in progress
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
        noteImage(this.run, image);
        return before ? [completed(before)] : [];
      }
      case 'finish':
        return this.finish();
    }
  }

  private finish(): ImageEvent[] {
    const { run, last } = this;
    const { close, region } = this.parts;
    if (!last) return []; // the image check has rejected such a response
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
