import { foldCase, listSecretForms } from './secret-forms.ts';

const STAR = 0x2a;
/** Bytes that the search begins with. No part is shorter. */
const ANCHOR = 8;
/** Bytes at the end of a piece that are compared with the beginnings of parts. */
const START = 6;
const EMPTY = Buffer.alloc(0);

/**
 * A part of a form. One that occurs without the rest is masked together with as many bytes after it as the rest has,
 * whatever they are: if they were compared, a host that repeats what it is sent would confirm one guessed letter after the
 * other.
 */
interface Part {
  form: Buffer;
  from: number;
  to: number;
  /** Whether the rest ends at a quote or a tag, because the form has none. */
  stops: boolean;
}

/** Bytes to mask. */
interface Region {
  from: number;
  /** End of the bytes that were compared. */
  solid: number;
  to: number;
  stops: boolean;
  /** Whether it is a whole form. */
  isWhole: boolean;
}

/**
 * Finds values in texts, in all their forms. Each form is searched as parts: its thirds, but at least so many bytes as are
 * enough to recognize it. So a host that shortens or wraps what it repeats shows less than a third. The time for a byte
 * of text does not depend on the number of values.
 */
export class EgressMask {
  /** By a hash of the first bytes. */
  private readonly parts = new Map<number, Part[]>();
  /** First bytes of parts, up to 6, as numbers. */
  private readonly starts = new Set<number>();
  /** One byte for each value of the upper bits of the hash: whether a part has it. */
  private readonly filter: Uint8Array;
  private readonly shift: number;

  constructor(values: readonly Buffer[]) {
    const parts = values.flatMap(listSecretForms).flatMap(({ bytes, minBytes }) => splitForm(bytes, minBytes));
    const bits = Math.min(22, Math.max(12, Math.ceil(Math.log2(parts.length + 1)) + 4));
    this.shift = 32 - bits;
    this.filter = new Uint8Array(2 ** bits);
    for (const part of parts) {
      const { form, from } = part;
      const hash = hashAnchor(form.readInt32BE(from), form.readInt32BE(from + 4));
      this.filter[hash >>> this.shift] = 1;
      const same = this.parts.get(hash);
      if (same) same.push(part);
      else this.parts.set(hash, [part]);
      for (let length = 1; length <= START; length++) this.starts.add(readStart(form, from, length));
    }
  }

  /** Overwrites the values in memory. The mask finds nothing afterwards. */
  close(): void {
    for (const part of this.parts.values()) for (const { form } of part) form.fill(0);
    this.parts.clear();
    this.starts.clear();
    this.filter.fill(0);
  }

  /** Masks a text whose characters are bytes. */
  maskText(text: string): string {
    const scan = new MaskScan();
    const bytes = Buffer.from(text, 'latin1');
    return Buffer.concat([scan.write(this, bytes), scan.end(this)]).toString('latin1');
  }

  /**
   * Finds forms and their parts.
   *
   * @returns the regions in order, and the number of bytes at the end that may be the beginning of one
   */
  search(bytes: Buffer): { regions: Region[]; begun: number } {
    const { filter, shift, parts } = this;
    const folded = foldCase(bytes);
    const end = folded.length;
    const regions: Region[] = [];
    let begun = 0;
    let high = 0;
    let low = 0;
    for (let at = 0; at < end; at++) {
      high = (high << 8) | (low >>> 24);
      low = (low << 8) | folded[at]!;
      if (at < ANCHOR - 1) continue;
      const hash = hashAnchor(high, low);
      if (filter[hash >>> shift] === 0) continue;
      const from = at + 1 - ANCHOR;
      for (const { form, from: start, to, stops } of parts.get(hash) ?? []) {
        /** Whether the text has the form here from the part on, up to a place in the form or the end of the text. */
        const matches = (until: number): boolean => {
          const length = Math.min(until - start, end - from);
          return folded.compare(form, start, start + length, from, from + length) === 0;
        };
        if (!matches(to)) continue;
        const rest = from + form.length - start;
        const isAlike = start === 0 && matches(form.length);
        if (isAlike ? rest > end : from + to - start > end) begun ||= end - from;
        if (isAlike && rest <= end) regions.push({ from, solid: rest, to: rest, stops, isWhole: true });
        else if (from + to - start <= end)
          regions.push({ from, solid: from + to - start, to: rest, stops, isWhole: false });
      }
    }
    for (let length = Math.min(end, ANCHOR - 1); begun === 0 && length > 0; length--) {
      if (this.starts.has(readStart(folded, end - length, Math.min(length, START)))) begun = length;
    }
    return { regions: leaveOutInner(regions), begun };
  }
}

/** Leaves out parts within a whole form: another form has the same part, and can be longer. */
function leaveOutInner(regions: readonly Region[]): Region[] {
  const whole = regions.filter(({ isWhole }) => isWhole);
  let at = 0;
  let covered = 0;
  return regions.filter(({ from, solid, isWhole }) => {
    for (; at < whole.length && whole[at]!.from <= from; at++) covered = Math.max(covered, whole[at]!.to);
    return isWhole || solid > covered;
  });
}

function splitForm(form: Buffer, minBytes: number): Part[] {
  const size = Math.max(minBytes, Math.ceil(form.length / 3));
  const stops = !form.some((byte) => stopBytes.has(byte));
  const parts: Part[] = [];
  for (let from = 0; form.length - from >= minBytes; from += size) {
    parts.push({ form, from, to: Math.min(form.length, from + size), stops });
  }
  return parts;
}

/** `"`, `<` and `>`. */
const stopBytes: ReadonlySet<number> = new Set([0x22, 0x3c, 0x3e]);

/** Numbers of different lengths differ. */
const readStart = (bytes: Buffer, at: number, length: number): number => bytes.readUIntBE(at, length) * 8 + length;

const hashAnchor = (high: number, low: number): number => Math.imul(high, 0x9e3779b1) ^ Math.imul(low, 0x85ebca6b);

/** Masks one stream. It keeps at most the beginning of one form. */
export class MaskScan {
  private tail: Buffer = EMPTY;
  /** Regions that continue after the bytes so far: one that ends at a quote, and one that does not. */
  private open: Region[] = [];

  /** @returns the bytes that are certain. They have the same length. */
  write(mask: EgressMask, piece: Buffer): Buffer {
    return this.scan(mask, piece, false);
  }

  /** @returns the rest */
  end(mask: EgressMask): Buffer {
    return this.scan(mask, EMPTY, true);
  }

  private scan(mask: EgressMask, piece: Buffer, isLast: boolean): Buffer {
    const bytes = Buffer.concat([this.tail, piece]);
    const { regions, begun } = mask.search(bytes);
    const ready = bytes.length - (isLast ? 0 : begun);
    // Those of the tail are found again with it.
    const found = [...this.open, ...regions.filter(({ from }) => from < ready)];
    this.open = [true, false].flatMap((stops) =>
      coverRegions(
        bytes,
        ready,
        found.filter((region) => region.stops === stops),
      ),
    );
    this.tail = bytes.subarray(ready);
    return bytes.subarray(0, ready);
  }
}

/**
 * Overwrites the bytes of regions by stars, each byte once.
 *
 * @param regions in order, all of the same kind
 * @returns the part of the longest one that is after the end
 */
function coverRegions(bytes: Buffer, end: number, regions: readonly Region[]): Region[] {
  let covered = 0;
  let open: Region | undefined;
  for (const { from, solid, to, stops } of regions) {
    let at = Math.max(from, covered);
    for (; at < Math.min(to, end); at++) {
      if (stops && at >= solid && stopBytes.has(bytes[at]!)) break;
      bytes[at] = STAR;
    }
    covered = Math.max(covered, at);
    if (at < end || to <= Math.max(end, open ? open.to + end : 0)) continue;
    open = { from: 0, solid: Math.max(0, solid - end), to: to - end, stops, isWhole: false };
  }
  return open ? [open] : [];
}
