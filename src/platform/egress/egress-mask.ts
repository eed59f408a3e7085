import { BACKSLASH, searchText } from './searched-text.ts';
import { listSecretForms } from './secret-forms.ts';

const STAR = 0x2a;
/** Bytes that the search begins with. No part is shorter. */
const ANCHOR = 8;
/** Bytes at the end of a piece that are compared with the beginnings of parts. */
const START = 6;
/** White space within a value can be long. More is not kept. */
const MAX_KEPT_BYTES = 262_144;
/** Those that JSON in JSON in JSON has before a quote. */
const MAX_BACKSLASHES = 7;
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

/** Bytes to mask, as places in a searched text. */
interface Region {
  from: number;
  /** End of the bytes that were compared. */
  solid: number;
  to: number;
  stops: boolean;
  /** Whether it is a whole form. */
  isWhole: boolean;
  /** Whether it began in a piece before. */
  isOpen?: boolean;
}

/**
 * Finds values in texts, in all their forms, also with white space in between. Each form is searched as parts. They are so
 * close to each other that each third has a whole one, and each piece with as many bytes as are enough to recognize the form,
 * if that is more. So a host that shortens what it repeats shows less than that. The time for a byte of text does not depend
 * on the number of values.
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
   * @param bytes a searched text
   * @returns the regions in order, and the number of bytes at the end that may be the beginning of one
   */
  search(bytes: Buffer): { regions: Region[]; begun: number } {
    const { filter, shift, parts } = this;
    const end = bytes.length;
    const regions: Region[] = [];
    let begun = 0;
    let high = 0;
    let low = 0;
    for (let at = 0; at < end; at++) {
      high = (high << 8) | (low >>> 24);
      low = (low << 8) | bytes[at]!;
      if (at < ANCHOR - 1) continue;
      const hash = hashAnchor(high, low);
      if (filter[hash >>> shift] === 0) continue;
      const from = at + 1 - ANCHOR;
      for (const { form, from: start, to, stops } of parts.get(hash) ?? []) {
        /** Whether the text has the form here from the part on, up to a place in the form or the end of the text. */
        const matches = (until: number): boolean => {
          const length = Math.min(until - start, end - from);
          return bytes.compare(form, start, start + length, from, from + length) === 0;
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
      if (this.starts.has(readStart(bytes, end - length, Math.min(length, START)))) begun = length;
    }
    return { regions, begun };
  }
}

/**
 * Long parts do not overlap: a client that knows a part of a value, and a host that repeats what it is sent, would otherwise
 * find the next few bytes.
 */
function splitForm(form: Buffer, minBytes: number): Part[] {
  const run = Math.max(minBytes, Math.floor((form.length - 2) / 3)); // a third of a value can lack two digits of base64
  const size = Math.max(minBytes, Math.floor((run + 1) / 2));
  const last = form.length - size;
  const stops = !form.some((byte) => stopBytes.has(byte));
  const parts = new Map<string, Part>();
  const add = (from: number): void => {
    const text = form.toString('latin1', from, from + size);
    if (!parts.has(text)) parts.set(text, { form, from, to: from + size, stops }); // the first one masks the most
  };
  for (let from = 0; from < last; from += run - size + 1) add(from);
  add(last);
  return [...parts.values()];
}

/** `"`, `<` and `>`. */
const stopBytes: ReadonlySet<number> = new Set([0x22, 0x3c, 0x3e]);

/** Numbers of different lengths differ. */
const readStart = (bytes: Buffer, at: number, length: number): number => bytes.readUIntBE(at, length) * 8 + length;

const hashAnchor = (high: number, low: number): number => Math.imul(high, 0x9e3779b1) ^ Math.imul(low, 0x85ebca6b);

/** Masks one stream. It keeps at most the beginning of one form, with the white space in it. */
export class MaskScan {
  private tail: Buffer = EMPTY;
  /** The end of the searched text that may be the beginning of a part, and its places in the tail. */
  private begun: Buffer = EMPTY;
  private places = new Int32Array();
  private isEscaped = false;
  /** End of the whole forms so far, from the beginning of `begun`. */
  private wholeTo = 0;
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
    const added = searchText(piece, this.isEscaped);
    this.isEscaped = added.isEscaped;
    const searched = Buffer.concat([this.begun, added.bytes]);
    const places = new Int32Array(searched.length);
    places.set(this.places);
    places.set(
      added.places.map((place) => place + this.tail.length),
      this.places.length,
    );
    const isNew = isLast || added.bytes.length > 0;
    const { regions, begun } = isNew ? mask.search(searched) : { regions: [], begun: searched.length };
    let ready = searched.length - (isLast ? 0 : begun);
    let certain = places.subarray(ready).find((place) => place >= 0) ?? bytes.length;
    // Those of the tail are found again with it.
    const found = this.leaveOutInner(regions.filter(({ from }) => from < ready));
    if (bytes.length - certain > MAX_KEPT_BYTES) {
      found.push({ from: ready, solid: searched.length, to: searched.length, stops: false, isWhole: false });
      ready = searched.length;
      certain = bytes.length;
    } else if (begun < ANCHOR && blankLine.test(bytes.toString('latin1', Math.max(certain, bytes.length - 4)))) {
      certain = bytes.length; // an event of a stream: the few bytes are sent, and still belong to what follows
    } else if (!isLast) certain -= countBackslashes(bytes, certain);
    this.open = [true, false].flatMap((stops) => {
      const same = [...this.open, ...found].filter((region) => region.stops === stops);
      return coverRegions({ bytes, searched, places, ready }, same);
    });
    this.wholeTo -= ready;
    this.tail = bytes.subarray(certain);
    this.begun = searched.subarray(ready);
    this.places = places.subarray(ready).map((place) => place - certain);
    return bytes.subarray(0, certain);
  }

  /** Leaves out parts within a whole form: another form has the same part, and can be longer. */
  private leaveOutInner(regions: readonly Region[]): Region[] {
    const whole = regions.filter(({ isWhole }) => isWhole);
    let at = 0;
    return regions.filter(({ from, solid, isWhole }) => {
      for (; at < whole.length && whole[at]!.from <= from; at++) this.wholeTo = Math.max(this.wholeTo, whole[at]!.to);
      return isWhole || solid > this.wholeTo;
    });
  }
}

/** At the end of a text. */
const blankLine = /(\n|\r|\r\n)\1$/;

interface Coverage {
  bytes: Buffer;
  searched: Buffer;
  /** Offsets of the searched text in the bytes. Bytes at a negative offset were already sent. */
  places: Int32Array;
  /** End of the searched text that is certain. */
  ready: number;
}

/**
 * Overwrites the bytes of regions by stars, with the white space in between.
 *
 * @param regions in order, all of the same kind
 * @returns the part of the longest one that is after the end
 */
function coverRegions({ bytes, searched, places, ready }: Coverage, regions: readonly Region[]): Region[] {
  let covered = 0;
  let open: Region | undefined;
  for (const { from, solid, to, stops, isOpen } of regions) {
    let at = Math.max(from, covered);
    const next = places[at] ?? bytes.length;
    if (isOpen && at === 0) writeStars(bytes, 0, next);
    else if (at > from && at < to) writeStars(bytes, places[at - 1]! + 1, next);
    else if (at === from) writeStars(bytes, next - countBackslashes(bytes, next), next); // they escape the first byte
    for (; at < Math.min(to, ready); at++) {
      if (stops && at >= solid && stopBytes.has(searched[at]!)) break;
      const place = places[at]!;
      writeStars(bytes, place, at + 1 === to ? place + 1 : (places[at + 1] ?? bytes.length));
    }
    covered = Math.max(covered, at);
    if (at < ready || to <= Math.max(ready, open ? open.to + ready : 0)) continue;
    open = { from: 0, solid: Math.max(0, solid - ready), to: to - ready, stops, isWhole: false, isOpen: true };
  }
  return open ? [open] : [];
}

/** Counts those before a place, up to `MAX_BACKSLASHES`. */
function countBackslashes(bytes: Buffer, place: number): number {
  let count = 0;
  while (count < Math.min(MAX_BACKSLASHES, place) && bytes[place - 1 - count] === BACKSLASH) count++;
  return count;
}

/** Line breaks stay. */
function writeStars(bytes: Buffer, from: number, to: number): void {
  for (let at = Math.max(0, from); at < to; at++) if (bytes[at] !== 0x0a && bytes[at] !== 0x0d) bytes[at] = STAR;
}
