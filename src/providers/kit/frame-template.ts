const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** From this length on the engine makes a slice a view, which would keep the whole network read alive; parsing copies. */
const SLICE_LENGTH = 13;

/** A place of a frame that changes from one to the next: a member with a string or a number. */
export interface Placeholder {
  key: string;
  value: string | number;
}

/**
 * The frames of one stream are alike to the letter but for a delta, a number, some padding. Parsing such a frame is two
 * thirds of what an event costs, so a frame that has been parsed serves as the template for those after it: what lies
 * between the holes must be the same, and the holes are read for themselves. A frame that does not fit is parsed.
 */
export class FrameTemplate {
  private readonly segments: readonly string[];
  private readonly isText: readonly boolean[];
  private readonly deltaHole: number;

  private constructor(segments: readonly string[], isText: readonly boolean[], deltaHole: number) {
    this.segments = segments;
    this.isText = isText;
    this.deltaHole = deltaHole;
  }

  /**
   * Creates a template of a frame.
   *
   * @param holes its changing members as they were parsed, each key once in the frame; the first is the delta
   * @returns undefined if a key is in the frame more than once, or a value is not written plainly
   */
  static learn(data: string, holes: readonly Placeholder[]): FrameTemplate | undefined {
    const places: { start: number; end: number; hole: number }[] = [];
    for (const [hole, { key, value }] of holes.entries()) {
      const isText = typeof value === 'string';
      const name = `"${key}":${isText ? '"' : ''}`;
      const at = data.indexOf(name);
      if (at === -1 || data.indexOf(`"${key}"`) !== at || data.indexOf(`"${key}"`, at + 1) !== -1) return undefined;
      const start = at + name.length;
      const end = start + String(value).length;
      if (!data.startsWith(String(value), start) || (isText && data.charCodeAt(end) !== QUOTE)) return undefined;
      places.push({ start, end, hole });
    }
    places.sort((a, b) => a.start - b.start);
    const segments: string[] = [];
    let from = 0;
    for (const { start, end } of places) {
      segments.push(data.slice(from, start));
      from = end;
    }
    segments.push(data.slice(from));
    return new FrameTemplate(
      segments,
      places.map(({ hole }) => typeof holes[hole]?.value === 'string'),
      places.findIndex(({ hole }) => hole === 0),
    );
  }

  /** @returns the delta of a frame that fits; undefined for any other */
  read(data: string): string | undefined {
    const segments = this.segments;
    const isText = this.isText;
    let at = 0;
    let delta = '';
    for (let hole = 0; hole < isText.length; hole++) {
      const segment = segments[hole]!;
      const start = at + segment.length;
      if (data.slice(at, start) !== segment) return undefined; // compared as a block, unlike with startsWith
      at = start;
      if (!isText[hole]) {
        while (isDigit(data.charCodeAt(at))) at++;
        if (at === start) return undefined;
        continue;
      }
      let escaped = false;
      for (let code = data.charCodeAt(at); code !== QUOTE; code = data.charCodeAt(at)) {
        if (code < 0x20 || Number.isNaN(code)) return undefined; // no JSON, or no end
        if (code === BACKSLASH) {
          escaped = true;
          at++;
        }
        at++;
      }
      if (hole !== this.deltaHole) continue;
      if (escaped || at - start >= SLICE_LENGTH) {
        const text = readLiteral(data.slice(start - 1, at + 1));
        if (text === undefined) return undefined;
        delta = text;
      } else delta = data.slice(start, at);
    }
    const last = segments[isText.length]!;
    return data.length === at + last.length && data.slice(at) === last ? delta : undefined;
  }
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

function readLiteral(literal: string): string | undefined {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return undefined;
  }
}

/** Templates in a row that fitted nothing, after which none is made. */
const MAX_MISSES = 20;

/** The template of the stream in progress: made of the last frame that was parsed, and given up where it is no use. */
export class DeltaFrames {
  private template: FrameTemplate | undefined;
  private misses = 0;

  /** @returns the delta of a frame that is like the last one; undefined when it must be parsed */
  read(data: string): string | undefined {
    const delta = this.template?.read(data);
    if (delta !== undefined) this.misses = 0;
    return delta;
  }

  /** @see FrameTemplate.learn */
  learn(data: string, holes: readonly Placeholder[]): void {
    if (this.misses >= MAX_MISSES) return;
    this.template = FrameTemplate.learn(data, holes);
    this.misses++;
  }

  forget(): void {
    this.template = undefined;
  }
}
