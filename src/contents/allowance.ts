import { describeEmbeddedData } from './describe-binary.ts';

/** Takes secrets out of a text. */
export interface SecretMask {
  hide(text: string): string;
  /** Characters of the longest secret. */
  readonly longest: number;
}

/** What the mark of a cut takes at most. */
const MARK_BYTES = 60;

/**
 * The bytes of JSON that a content may still take. Each text is given out whole, or cut to what is left with a mark that
 * says so.
 */
export class Allowance {
  left: number;
  isCut = false;
  private readonly mask: SecretMask;

  constructor(bytes: number, mask: SecretMask) {
    this.left = bytes;
    this.mask = mask;
  }

  /** Nothing more is worth to be begun. */
  get isSpent(): boolean {
    return this.left < MARK_BYTES;
  }

  /** A text without secrets and data, as far as there is room for it. */
  take(text: string): string {
    const { longest } = this.mask;
    const { text: start, isWhole } = describeEmbeddedData(text, Math.max(0, this.left) + longest);
    const hidden = this.mask.hide(start);
    // What goes on may end in half a secret, which nobody would know for one.
    let kept = isWhole || longest === 0 ? hidden : hidden.slice(0, -longest);
    if (!isWhole || sizeOf(kept) > this.left) {
      this.isCut = true;
      kept = `${cut(kept, this.left - MARK_BYTES)} … [cut: ${text.length} characters in all]`;
    }
    this.left -= sizeOf(kept);
    return kept;
  }

  /** Something has been left out for want of room. */
  markCut(): void {
    this.isCut = true;
  }
}

/** Bytes of a value as JSON. */
const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The longest beginning whose JSON has at most so many bytes, within a few of them, and which ends in a whole character. */
function cut(text: string, bytes: number): string {
  let kept = text.slice(0, Math.max(0, bytes));
  for (let size = sizeOf(kept); kept !== '' && size > bytes; size = sizeOf(kept)) {
    kept = kept.slice(0, Math.min(kept.length - 1, Math.floor((kept.length * Math.max(0, bytes)) / size)));
  }
  return kept.isWellFormed() || !/[\ud800-\udbff]$/.test(kept) ? kept : kept.slice(0, -1);
}
