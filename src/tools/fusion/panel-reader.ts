import type { ResponseEvent } from '../../domain/events.ts';
import type { MaybePromise } from '../../domain/maybe-promise.ts';
import { MESSAGE_GAP } from '../inner-model.ts';

/** Maximum bytes of the reasoning of one model. It is shown, and not kept. */
const MAX_REASONING_BYTES = 1024 * 1024;

/** A piece of a response. */
export interface PanelPiece {
  readonly kind: 'text' | 'reasoning';
  readonly delta: string;
}

/** Reads the text of a response while it arrives, and ends it if the text is too long. */
export class PanelReader {
  private readonly maxBytes: number;
  private readonly show: (pieces: readonly PanelPiece[]) => MaybePromise<void>;
  private readonly stop: () => void;
  private textBytes = 0;
  private reasoningBytes = 0;
  private itemId: unknown;

  /**
   * @param maxBytes of the text as JSON
   * @param stop called once, when the text is too long
   */
  constructor(maxBytes: number, show: (pieces: readonly PanelPiece[]) => MaybePromise<void>, stop: () => void) {
    this.maxBytes = maxBytes;
    this.show = show;
    this.stop = stop;
  }

  get isTooLong(): boolean {
    return this.textBytes > this.maxBytes || this.reasoningBytes > MAX_REASONING_BYTES;
  }

  take(events: readonly ResponseEvent[]): MaybePromise<void> {
    if (this.isTooLong) return undefined;
    const pieces: PanelPiece[] = [];
    for (const event of events) {
      const piece = this.read(event);
      if (!piece) continue;
      const bytes = measureJson(piece.delta);
      if (piece.kind === 'text') this.textBytes += bytes;
      else this.reasoningBytes += bytes;
      if (this.isTooLong) {
        this.stop();
        break;
      }
      pieces.push(piece);
    }
    return pieces.length > 0 ? this.show(pieces) : undefined;
  }

  private read(event: ResponseEvent): PanelPiece | undefined {
    const { delta, item_id: itemId } = event as { delta?: unknown; item_id?: unknown };
    if (typeof delta !== 'string') return undefined;
    switch (event.type) {
      case 'response.output_text.delta':
      case 'response.refusal.delta': {
        const isNext = this.textBytes > 0 && itemId !== this.itemId;
        this.itemId = itemId;
        return { kind: 'text', delta: isNext ? MESSAGE_GAP + delta : delta };
      }
      case 'response.reasoning_text.delta':
      case 'response.reasoning_summary_text.delta':
        return { kind: 'reasoning', delta };
      default:
        return undefined;
    }
  }
}

/** Bytes of a text as JSON, without the quotes. */
export const measureJson = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;
