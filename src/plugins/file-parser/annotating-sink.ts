import type { Chunk } from '../../domain/chunks.ts';
import type { OutputItem } from '../../domain/items.ts';
import type { RevisingSink } from '../../domain/reviser.ts';
import type { Sink } from '../../domain/sink.ts';
import type { FileAnnotation } from './file-annotations.ts';

/** State that the attempts of a run share: its annotations, and the attempt that has passed them on. */
export interface AnnotationState {
  /** Annotations of the files in the request of the current attempt. */
  current: readonly FileAnnotation[];
  writtenBy: object | undefined;
}

/** Adds annotations to the first text of an attempt (choice 384). Native wires repeat them in the finished part and item. */
export class AnnotatingSink implements RevisingSink {
  private readonly state: AnnotationState;
  private readonly out: Sink<Chunk>;
  /** The item that has them. Only native wires name it. */
  private key: unknown;
  /** Whether the part that has them is finished. */
  private isPartDone = false;

  constructor(state: AnnotationState, out: Sink<Chunk>) {
    this.state = state;
    this.out = out;
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    const { state } = this;
    if (state.current.length === 0 || (state.writtenBy && state.writtenBy !== this)) return this.out.write(chunks);
    if (state.writtenBy === this && this.key === undefined) return this.out.write(chunks);
    return this.out.write(chunks.flatMap((chunk) => this.annotate(chunk)));
  }

  abandon(): void {
    if (this.state.writtenBy === this) this.state.writtenBy = undefined;
  }

  private annotate(chunk: Chunk): Chunk[] {
    const { state } = this;
    const { current } = state;
    switch (chunk.type) {
      case 'text': {
        if (state.writtenBy) return [chunk];
        state.writtenBy = this;
        this.key = chunk.key;
        const key = chunk.key === undefined ? undefined : { key: chunk.key };
        return [
          chunk,
          ...current.map((annotation): Chunk => ({ type: 'annotation', annotation: { ...annotation }, ...key })),
        ];
      }
      case 'part_done': {
        if (this.isPartDone || chunk.part.type !== 'output_text' || !this.takes(chunk.key)) return [chunk];
        this.isPartDone = true;
        return [{ ...chunk, part: withAnnotations(chunk.part, current) }];
      }
      case 'item_done':
        return this.hasText(chunk.item) && this.takes(chunk.key)
          ? [{ ...chunk, item: annotateItem(chunk.item, current) }]
          : [chunk];
      default:
        return [chunk];
    }
  }

  /** Whether a finished part or item is the one with the annotations. The first one is. */
  private takes(key: unknown): boolean {
    if (this.state.writtenBy) return this.key === key;
    this.state.writtenBy = this;
    this.key = key;
    return true;
  }

  private hasText({ type, content }: OutputItem): boolean {
    return type === 'message' && Array.isArray(content) && content.some(isText);
  }
}

const isText = (part: unknown): part is { type: 'output_text'; annotations?: unknown } =>
  (part as { type?: unknown } | null)?.type === 'output_text';

const withAnnotations = <Part extends { type: string }>(part: Part, added: readonly FileAnnotation[]): Part => {
  const { annotations } = part as { annotations?: unknown };
  return { ...part, annotations: [...added, ...(Array.isArray(annotations) ? annotations : [])] };
};

function annotateItem(item: OutputItem, added: readonly FileAnnotation[]): OutputItem {
  const content = item['content'] as unknown[]; // the caller has checked it
  const at = content.findIndex(isText);
  return {
    ...item,
    content: content.map((part, index) => (index === at && isText(part) ? withAnnotations(part, added) : part)),
  };
}
