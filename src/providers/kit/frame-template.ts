const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/**
 * From this length on, a slice is a view in V8, which would keep the entire network read in memory. Parsing copies the
 * text.
 */
const SLICE_LENGTH = 13;

/** A part of a frame that changes from one frame to the next: a member with a string or a number. */
export interface Placeholder {
  key: string;
  value: string | number;
}

/**
 * A template for the frames of one stream, which are identical except for a delta, numbers and padding. Parsing such a
 * frame takes two thirds of the time of an event. A parsed frame therefore becomes the template for the next ones: the
 * text between the holes must be equal, and only the holes are read. A frame that does not match is parsed.
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
   * @param holes its changing members as parsed; each key occurs once in the frame; the first one is the delta
   * @returns undefined if a key occurs more than once in the frame, or a value is not written literally
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
    const starts = [0, ...places.map(({ end }) => end)]; // of the segments; each ends where the next hole starts
    return new FrameTemplate(
      starts.map((start, at) => copy(data.slice(start, places[at]?.start))),
      places.map(({ hole }) => typeof holes[hole]?.value === 'string'),
      places.findIndex(({ hole }) => hole === 0),
    );
  }

  /** @returns the delta of a matching frame; undefined for any other frame */
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
        if (code < 0x20 || Number.isNaN(code)) return undefined; // not JSON, or no end
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

/** Copies a text, because a slice is a view that keeps all frames of its network read as long as the stream. */
const copy = (text: string): string => Buffer.from(text).toString();

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

function readLiteral(literal: string): string | undefined {
  try {
    return JSON.parse(literal) as string;
  } catch {
    return undefined;
  }
}

/** Maximum number of consecutive templates without a match. After that, no template is made. */
const MAX_MISSES = 20;

/** The template of the current stream. It is made from the last parsed frame, and abandoned if it does not help. */
export class DeltaFrames {
  private template: FrameTemplate | undefined;
  private misses = 0;

  /** @returns the delta of a frame that matches the template; undefined if the frame must be parsed */
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
