import type { Chunk, ItemDoneChunk, ItemKey, PartDoneChunk } from './chunks.ts';
import { LinkScanner } from './link-scanner.ts';
import type { Reviser, RevisingSink } from './reviser.ts';
import type { Sink } from './sink.ts';

/** A page that a response may cite. */
export interface CitableSource {
  readonly url: string;
  readonly title: string;
  /** An excerpt. */
  readonly content: string;
  /** Set for a stored file, whose `url` is its id. Only a link to it is cited. */
  readonly file?: { readonly id: string; readonly name: string };
}

/** The sources of one run. */
export interface Citable {
  /** Undefined: there are none yet, so the output stays unchanged. */
  sources(): readonly CitableSource[] | undefined;
  /** URLs that annotations of earlier steps have named. */
  readonly named: Set<string>;
}

/** Creates the reviser that cites sources. */
export const citeSources = (citable: Citable): Reviser<unknown> => ({
  open: (_run, out) => new CitingSink(citable, out),
});

type Annotation = Record<string, unknown>;
type Part = { type?: unknown; text?: unknown; annotations?: unknown };

/** A text of the output in progress. */
interface OpenText {
  readonly scanner: LinkScanner;
  /** Annotations that have been passed on: of the provider and of this sink, in order. */
  readonly emitted: Annotation[];
  /** How many of them are the provider's. */
  theirs: number;
}

/**
 * Adds a `url_citation` for every markdown link to a source, right after the link. Sources that no text has cited follow
 * at the end of the first text of the step, with both positions 0. Passes all output on at once.
 *
 * @see docs/reference/items.md#annotations
 */
export class CitingSink implements RevisingSink {
  private readonly citable: Citable;
  private readonly out: Sink<Chunk>;
  private marks: SourceMarks | undefined;
  /** Texts of a wire that names its items, by item: one for each content part. */
  private readonly named = new Map<ItemKey, (OpenText | undefined)[]>();
  /** The text in progress on a wire that does not name its items. */
  private unnamed: OpenText | undefined;

  constructor(citable: Citable, out: Sink<Chunk>) {
    this.citable = citable;
    this.out = out;
  }

  write(chunks: Chunk[]): Promise<void> | undefined {
    const sources = this.marks ? undefined : this.citable.sources();
    if (sources) this.marks = new SourceMarks(sources, this.citable.named);
    const { marks } = this;
    if (!marks) return this.out.write(chunks);
    const passed: Chunk[] = [];
    for (const chunk of chunks) this.take(chunk, marks, passed);
    if (chunks.at(-1)?.type === 'finish') marks.commit(this.citable.named);
    return this.out.write(passed);
  }

  abandon(): void {
    this.named.clear();
  }

  private take(chunk: Chunk, marks: SourceMarks, passed: Chunk[]): void {
    switch (chunk.type) {
      case 'text': {
        passed.push(chunk);
        const text = this.textOf(chunk.key);
        const key = chunk.key === undefined ? undefined : { key: chunk.key };
        for (const annotation of marks.read(text.scanner, chunk.delta)) {
          text.emitted.push(annotation);
          passed.push({ type: 'annotation', annotation, ...key });
        }
        return;
      }
      case 'annotation': {
        const text = this.textOf(chunk.key);
        text.emitted.push(chunk.annotation);
        text.theirs++;
        passed.push(chunk);
        return;
      }
      case 'part':
        this.partsOf(chunk.key).push(chunk.part.type === 'output_text' ? openText() : undefined);
        passed.push(chunk);
        return;
      case 'part_done':
        passed.push(this.finishPart(chunk, marks));
        return;
      case 'item_done':
        this.closeUnnamed(marks, passed);
        passed.push(this.finishItem(chunk, marks));
        return;
      case 'start':
      case 'debug':
      case 'relay':
      case 'tool_call_arguments':
        passed.push(chunk);
        return;
      default:
        this.closeUnnamed(marks, passed);
        passed.push(chunk);
    }
  }

  private textOf(key: ItemKey | undefined): OpenText {
    if (key === undefined) {
      this.unnamed ??= openText();
      return this.unnamed;
    }
    const parts = this.partsOf(key);
    const last = parts.at(-1);
    if (last) return last;
    const text = openText();
    parts.push(text);
    return text;
  }

  private partsOf(key: ItemKey): (OpenText | undefined)[] {
    const parts = this.named.get(key) ?? [];
    this.named.set(key, parts);
    return parts;
  }

  /** The next chunk ends the text in progress of a wire that does not name its items. */
  private closeUnnamed(marks: SourceMarks, passed: Chunk[]): void {
    if (!this.unnamed) return;
    this.unnamed = undefined;
    for (const annotation of marks.listOthers()) passed.push({ type: 'annotation', annotation });
  }

  private finishPart(chunk: PartDoneChunk, marks: SourceMarks): PartDoneChunk {
    if (chunk.part.type !== 'output_text') return chunk;
    const parts = this.partsOf(chunk.key);
    const index = chunk.index ?? Math.max(parts.length - 1, 0);
    parts[index] ??= openText();
    return { ...chunk, part: { ...chunk.part, annotations: this.completeText(parts[index], chunk.part, marks) } };
  }

  private finishItem(chunk: ItemDoneChunk, marks: SourceMarks): ItemDoneChunk {
    const { item, key } = chunk;
    const { content } = item;
    if (item.type !== 'message' || !Array.isArray(content)) return chunk;
    const parts = this.named.get(key) ?? [];
    this.named.delete(key);
    const finished = content.map((part: Part, index) =>
      part?.type === 'output_text'
        ? { ...part, annotations: this.completeText(parts[index] ?? openText(), part, marks) }
        : part,
    );
    return { ...chunk, item: { ...item, content: finished } };
  }

  /** Returns all annotations of a finished text: those that the client has, then the others. */
  private completeText(open: OpenText, { text, annotations }: Part, marks: SourceMarks): Annotation[] {
    const { scanner, emitted } = open;
    const theirs: Annotation[] = Array.isArray(annotations) ? annotations : [];
    const isFirstTime = emitted.length === 0 || open.theirs < theirs.length;
    if (isFirstTime) emitted.push(...theirs.slice(open.theirs));
    open.theirs = Math.max(open.theirs, theirs.length);
    if (typeof text === 'string') emitted.push(...marks.read(scanner, text.slice(scanner.position)));
    if (scanner.position > 0) emitted.push(...marks.listOthers());
    return [...emitted];
  }
}

const openText = (): OpenText => ({ scanner: new LinkScanner(), emitted: [], theirs: 0 });

/** The sources of one attempt, and which of them annotations have named. */
class SourceMarks {
  private readonly sources: readonly CitableSource[];
  private readonly byUrl: ReadonlyMap<string, CitableSource>;
  /** URLs, also of earlier steps. */
  private readonly named: Set<string>;
  private isListed = false;

  constructor(sources: readonly CitableSource[], named: ReadonlySet<string>) {
    this.sources = sources;
    this.byUrl = new Map(sources.map((source) => [keyOf(source.url), source]));
    this.named = new Set(named);
  }

  /** Returns a citation for each link to a source in the next piece of a text. */
  *read(scanner: LinkScanner, piece: string): Iterable<Annotation> {
    for (const { url, start, end } of scanner.read(piece) ?? []) {
      const source = this.byUrl.get(keyOf(url));
      if (source) yield this.cite(source, start, end);
    }
  }

  /** Returns a citation without a position for each source that was not named. Once. */
  listOthers(): Annotation[] {
    if (this.isListed) return [];
    this.isListed = true;
    return this.sources
      .filter(({ url, file }) => !file && !this.named.has(url))
      .map((source) => this.cite(source, 0, 0));
  }

  /** Remembers for the next step what the client has. */
  commit(named: Set<string>): void {
    for (const url of this.named) named.add(url);
  }

  /** Only the first citation of a source has its excerpt: a text may cite a source often. */
  private cite({ url, title, content, file }: CitableSource, start: number, end: number): Annotation {
    if (file) return { type: 'file_citation', file_id: file.id, filename: file.name, index: end };
    const isFirst = !this.named.has(url);
    this.named.add(url);
    return {
      type: 'url_citation',
      url,
      title,
      start_index: start,
      end_index: end,
      ...(isFirst && content !== '' && { content }),
    };
  }
}

/** Two URLs with the same key are the same page. */
function keyOf(text: string): string {
  const url = URL.parse(text);
  return url ? `${url.host}${url.pathname.replace(/\/$/, '')}${url.search}` : text;
}
