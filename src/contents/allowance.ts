import { describeEmbeddedData } from './describe-binary.ts';

/** Hides secrets in a text. */
export interface SecretMask {
  hide(text: string): string;
  /** Characters of the longest secret. */
  readonly longest: number;
}

/** Maximum length of the truncation mark. */
const MARK_BYTES = 60;

/**
 * The bytes of JSON that a content may still use. Returns each text whole, or truncated to the remaining bytes with a
 * mark.
 */
export class Allowance {
  left: number;
  isCut = false;
  private readonly mask: SecretMask;

  constructor(bytes: number, mask: SecretMask) {
    this.left = bytes;
    this.mask = mask;
  }

  /** Whether too little is left to start another part. */
  get isSpent(): boolean {
    return this.left < MARK_BYTES;
  }

  /** Returns a text without secrets and embedded data, truncated to the remaining room. */
  take(text: string): string {
    const { longest } = this.mask;
    const { text: start, isWhole } = describeEmbeddedData(text, Math.max(0, this.left) + longest);
    const hidden = this.mask.hide(start);
    // The end may be a part of a secret, which the mask would not recognize.
    let kept = isWhole || longest === 0 ? hidden : hidden.slice(0, -longest);
    if (!isWhole || sizeOf(kept) > this.left) {
      this.isCut = true;
      kept = `${cut(kept, this.left - MARK_BYTES)} … [cut: ${text.length} characters in all]`;
    }
    this.left -= sizeOf(kept);
    return kept;
  }

  /** Notes that something was omitted because there was no room. */
  markCut(): void {
    this.isCut = true;
  }
}

/** Bytes of a value as JSON. */
const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The longest prefix whose JSON has at most that many bytes, within a few bytes. It ends with a whole character. */
function cut(text: string, bytes: number): string {
  let kept = text.slice(0, Math.max(0, bytes));
  for (let size = sizeOf(kept); kept !== '' && size > bytes; size = sizeOf(kept)) {
    kept = kept.slice(0, Math.min(kept.length - 1, Math.floor((kept.length * Math.max(0, bytes)) / size)));
  }
  return kept.isWellFormed() || !/[\ud800-\udbff]$/.test(kept) ? kept : kept.slice(0, -1);
}
