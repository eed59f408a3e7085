import type { ImageEvent, WireImageUsage } from '../domain/image-events.ts';
import type { Picture } from '../domain/images.ts';
import { PictureDigest } from '../domain/picture-digest.ts';
import type { RouterMetadata } from '../domain/router-metadata.ts';
import type { Taker } from '../domain/taker.ts';
import type { Cost, Usage } from '../domain/usage.ts';
import { usdOf } from '../metering/cost.ts';
import type { CheckedChunk } from './picture-check.ts';
import { type ImageRun, isLogged } from './run.ts';

/** How a generation ends. */
export interface ImageEventParts {
  /** Called once, when all of it is there: books the run. */
  close: (run: ImageRun) => void;
  describeRun: (run: ImageRun) => RouterMetadata | undefined;
}

/**
 * Chunks to events. The last picture waits for the end of the answer, since it carries the usage; the run is booked
 * before the client can have it.
 */
export class ImageEventStage implements Taker<CheckedChunk> {
  private readonly run: ImageRun;
  private readonly parts: ImageEventParts;
  private readonly client: Taker<ImageEvent>;
  private last: Picture | undefined;

  constructor(run: ImageRun, parts: ImageEventParts, client: Taker<ImageEvent>) {
    this.run = run;
    this.parts = parts;
    this.client = client;
  }

  take(chunks: CheckedChunk[]): Promise<void> | undefined {
    const events = chunks.flatMap((chunk) => this.build(chunk));
    return events.length > 0 ? this.client.take(events) : undefined;
  }

  private build(chunk: CheckedChunk): ImageEvent[] {
    switch (chunk.type) {
      case 'start':
        return [];
      case 'partial':
        return [{ type: 'image_generation.partial_image', bytes: chunk.bytes, partial_image_index: chunk.index }];
      case 'text':
        return [{ type: 'image_generation.text_chunk', text: chunk.text, phase: chunk.phase }];
      case 'image': {
        const { picture } = chunk;
        const before = this.last;
        this.last = picture;
        this.note(picture);
        return before ? [completed(before)] : [];
      }
      case 'finish':
        return this.finish();
    }
  }

  private note(picture: Picture): void {
    const { width, height } = picture;
    this.run.made.push({ width, height, ...(isLogged(this.run) && { digest: new PictureDigest(picture) }) });
  }

  private finish(): ImageEvent[] {
    const { run, last } = this;
    const { close, describeRun } = this.parts;
    if (!last) return []; // the check of pictures has refused such an answer
    this.last = undefined;
    run.isComplete = true;
    close(run);
    const usage = writeImageUsage(run.finish?.usage, run.cost, run.selected?.workspace !== undefined);
    const routerMetadata = describeRun(run);
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

const completed = (picture: Picture) => ({
  type: 'image_generation.completed' as const,
  picture,
  created: Math.floor(Date.now() / 1000),
  isLast: false,
});

/** @returns undefined when neither tokens nor a price are known */
function writeImageUsage(
  usage: Usage | undefined,
  cost: Cost | undefined,
  isByok: boolean,
): WireImageUsage | undefined {
  if (!usage && !cost?.priced) return undefined;
  const total = cost?.priced ? usdOf(cost.inputNanoUsd + cost.outputNanoUsd) : null;
  return {
    prompt_tokens: usage?.inputTokens ?? 0,
    completion_tokens: usage?.outputTokens ?? 0,
    total_tokens: usage?.totalTokens ?? 0,
    cost: total,
    ...(cost?.priced && {
      cost_details: {
        upstream_inference_prompt_cost: usdOf(cost.inputNanoUsd),
        upstream_inference_completions_cost: usdOf(cost.outputNanoUsd),
        upstream_inference_cost: total!, // it is priced
      },
    }),
    is_byok: isByok,
    ...(usage && { prompt_tokens_details: { cached_tokens: usage.cachedTokens } }),
    ...(usage?.special?.outputImageTokens !== undefined && {
      completion_tokens_details: { image_tokens: usage.special.outputImageTokens },
    }),
  };
}
