import type { Markdown } from './markdown.ts';
import { findRelated, readRelations, type Relation } from './office-package.ts';
import { type XmlAttributes, readXml, type XmlHandlers } from './read-xml.ts';
import type { ArchivePart, ZipArchive } from './zip-archive.ts';

/**
 * Writes the text of a Word document: headings, paragraphs, lists, tables, links and notes. Deleted text of tracked
 * changes is omitted.
 *
 * @param main its main part, `word/document.xml`
 * @throws {FileFault}
 */
export async function readDocx(archive: ZipArchive, main: ArchivePart, out: Markdown): Promise<void> {
  const relations = await readRelations(archive, main.name);
  const styles = findRelated(archive, relations, 'styles');
  const numbering = findRelated(archive, relations, 'numbering');
  const body = new BodyReader(out, {
    headings: styles ? await readHeadings(styles) : new Map(),
    ordered: numbering ? await readOrderedLists(numbering) : new Set(),
    relations,
  });
  await readXml(main, handlersOf(body));
  for (const kind of ['footnote', 'endnote'] as const) {
    const notes = findRelated(archive, relations, `${kind}s`);
    if (notes) await readXml(notes, handlersOf(new NotesReader(out, kind, body.notes)));
  }
}

/** Levels of headings by the id of their style, 1 to 9. A style inherits from the one that it is based on. */
async function readHeadings(part: ArchivePart): Promise<ReadonlyMap<string, number>> {
  const levels = new Map<string, number>();
  const bases = new Map<string, string>();
  let id: string | undefined;
  await readXml(part, {
    open(name, { styleId, val = '' }) {
      if (name === 'style') id = styleId;
      if (id === undefined) return;
      if (name === 'basedOn') bases.set(id, val);
      if (name === 'outlineLvl' && Number(val) < 9) levels.set(id, Number(val) + 1);
      if (name !== 'name') return;
      const level = /^heading ([1-9])$/i.exec(val)?.[1] ?? (/^title$/i.test(val) ? '1' : undefined);
      if (level !== undefined) levels.set(id, Number(level));
    },
  });
  for (const style of bases.keys()) {
    let base = bases.get(style);
    for (let steps = 0; steps < MAX_INHERITANCE && base !== undefined && !levels.has(style); steps++) {
      const level = levels.get(base);
      if (level !== undefined) levels.set(style, level);
      base = bases.get(base);
    }
  }
  return levels;
}

const MAX_INHERITANCE = 10;

/** Lists whose items have numbers, as `<numId>/<level>`. */
async function readOrderedLists(part: ArchivePart): Promise<ReadonlySet<string>> {
  const ordered = new Map<string, Set<string>>(); // by abstract list
  const lists = new Map<string, string>();
  let abstract: string | undefined;
  let list: string | undefined;
  let level: string | undefined;
  await readXml(part, {
    open(name, { abstractNumId, numId, ilvl, val = '' }) {
      if (name === 'abstractNum') abstract = abstractNumId;
      if (name === 'num') list = numId;
      if (name === 'lvl') level = ilvl;
      if (name === 'abstractNumId' && list !== undefined) lists.set(list, val);
      if (name !== 'numFmt' || abstract === undefined || level === undefined || val === 'bullet' || val === 'none')
        return;
      const levels = ordered.get(abstract) ?? new Set();
      ordered.set(abstract, levels.add(level));
    },
  });
  const found = new Set<string>();
  for (const [id, of] of lists) for (const each of ordered.get(of) ?? []) found.add(`${id}/${each}`);
  return found;
}

interface Paragraph {
  text: string;
  style: string | undefined;
  list: string | undefined;
  level: number;
  link: { target: string; start: number } | undefined;
}

/** A table in progress. */
interface Table {
  rows: string[][];
  /** The blocks of the cell in progress. */
  cell: string[];
  /** Columns that the cell takes. */
  span: number;
}

/** Parts of a document that it shows no more, or shows otherwise. */
const ignored = new Set([
  'del',
  'moveFrom',
  'Fallback',
  'pPrChange',
  'rPrChange',
  'tblPrChange',
  'instrText',
  'delText',
]);

/** Reads paragraphs and the parts of their runs. */
abstract class ParagraphReader {
  private readonly paragraphs: Paragraph[] = []; // text boxes are inside of paragraphs
  private readonly relations: ReadonlyMap<string, Relation>;
  protected readonly out: Markdown;
  private skipped = 0; // depth below an ignored element
  private runs = 0;
  private isText = false;

  constructor(out: Markdown, relations: ReadonlyMap<string, Relation>) {
    this.out = out;
    this.relations = relations;
  }

  open(name: string, attributes: XmlAttributes): void {
    if (this.skipped > 0 || ignored.has(name)) {
      this.skipped++;
      return;
    }
    if (name === 'p') this.paragraphs.push({ text: '', style: undefined, list: undefined, level: 0, link: undefined });
    else if (name === 'r') this.runs++;
    else if (name === 't') this.isText = true;
    else this.openOther(name, attributes, this.paragraphs.at(-1));
  }

  private openOther(name: string, attributes: XmlAttributes, paragraph: Paragraph | undefined): void {
    const { val } = attributes;
    if (!paragraph) this.openBlock(name, attributes);
    else if (name === 'pStyle') paragraph.style = val;
    else if (name === 'ilvl') paragraph.level = Math.min(Number(val) || 0, 8);
    else if (name === 'numId') paragraph.list = val;
    else if (name === 'hyperlink') {
      const relation = this.relations.get(attributes['r:id'] ?? '');
      if (relation?.isExternal) paragraph.link = { target: relation.target, start: paragraph.text.length };
    } else if (this.runs === 0) this.openBlock(name, attributes);
    else if (name === 'tab') paragraph.text += ' ';
    else if (name === 'br' || name === 'cr') paragraph.text += '\n';
    else if (name === 'noBreakHyphen') paragraph.text += '-';
    else if (name === 'footnoteReference' || name === 'endnoteReference') {
      paragraph.text += this.refer(name === 'footnoteReference' ? 'footnote' : 'endnote', attributes['id'] ?? '');
    } else this.openBlock(name, attributes);
  }

  text(text: string): void {
    const paragraph = this.paragraphs.at(-1);
    if (!this.isText || this.skipped > 0 || !paragraph) return;
    paragraph.text += text;
    this.out.check(paragraph.text.length);
  }

  close(name: string): void {
    if (this.skipped > 0) {
      this.skipped--;
      return;
    }
    if (name === 't') this.isText = false;
    else if (name === 'r') this.runs--;
    else if (name === 'hyperlink') closeLink(this.paragraphs.at(-1));
    else if (name === 'p') {
      const paragraph = this.paragraphs.pop();
      if (paragraph) this.endParagraph(paragraph);
    } else this.closeBlock(name);
  }

  /** Returns a mark for a note, in the text that refers to it. */
  protected abstract refer(kind: 'footnote' | 'endnote', id: string): string;
  protected abstract endParagraph(paragraph: Paragraph): void;
  protected abstract openBlock(name: string, attributes: XmlAttributes): void;
  protected abstract closeBlock(name: string): void;
}

const handlersOf = (reader: ParagraphReader): XmlHandlers => ({
  open: (name, attributes) => reader.open(name, attributes),
  text: (text) => reader.text(text),
  close: (name) => reader.close(name),
});

function closeLink(paragraph: Paragraph | undefined): void {
  if (!paragraph?.link) return;
  const { target, start } = paragraph.link;
  const label = paragraph.text.slice(start);
  if (label.trim() !== '') paragraph.text = `${paragraph.text.slice(0, start)}[${label}](${target})`;
  paragraph.link = undefined;
}

interface DocumentParts {
  headings: ReadonlyMap<string, number>;
  ordered: ReadonlySet<string>;
  relations: ReadonlyMap<string, Relation>;
}

class BodyReader extends ParagraphReader {
  /** The notes that the text refers to, by kind and id. */
  readonly notes = new Map<string, string>();
  private readonly parts: DocumentParts;
  private readonly tables: Table[] = [];
  private readonly counts = new Map<string, number>();

  constructor(out: Markdown, parts: DocumentParts) {
    super(out, parts.relations);
    this.parts = parts;
  }

  protected refer(kind: 'footnote' | 'endnote', id: string): string {
    const label = `${kind === 'footnote' ? '' : 'e'}${id}`;
    this.notes.set(`${kind} ${id}`, label);
    return `[^${label}]`;
  }

  protected endParagraph(paragraph: Paragraph): void {
    const { text, style, list, level } = paragraph;
    const table = this.tables.at(-1);
    if (table) {
      table.cell.push(text);
      return;
    }
    const heading = style === undefined ? undefined : this.parts.headings.get(style);
    if (heading !== undefined) this.out.block(text.trim() && `${'#'.repeat(Math.min(heading, 6))} ${oneLine(text)}`);
    else if (list !== undefined && list !== '0') this.out.item(this.markerOf(list, level), text);
    else this.out.block(text);
  }

  private markerOf(list: string, level: number): string {
    const key = `${list}/${level}`;
    const indentation = '  '.repeat(level);
    if (!this.parts.ordered.has(key)) return `${indentation}- `;
    const count = (this.counts.get(key) ?? 0) + 1;
    this.counts.set(key, count);
    for (let deeper = level + 1; deeper < 9; deeper++) this.counts.delete(`${list}/${deeper}`);
    return `${indentation}${count}. `;
  }

  protected openBlock(name: string, { val }: XmlAttributes): void {
    const table = this.tables.at(-1);
    if (name === 'tbl') this.tables.push({ rows: [], cell: [], span: 1 });
    else if (!table) return;
    else if (name === 'tr') table.rows.push([]);
    else if (name === 'tc') {
      table.cell = [];
      table.span = 1;
    } else if (name === 'gridSpan') table.span = Math.min(Math.max(1, Number(val) || 1), MAX_SPAN);
  }

  protected closeBlock(name: string): void {
    const table = this.tables.at(-1);
    if (!table) return;
    if (name === 'tc') {
      const row = table.rows.at(-1);
      row?.push(table.cell.filter((text) => text.trim() !== '').join('\n'));
      for (let more = 1; more < table.span; more++) row?.push('');
    } else if (name === 'tbl') {
      this.tables.pop();
      const outer = this.tables.at(-1);
      if (outer) outer.cell.push(table.rows.map((row) => row.join(' / ')).join('\n'));
      else this.out.table(table.rows);
    }
  }
}

const MAX_SPAN = 64;

class NotesReader extends ParagraphReader {
  private readonly kind: string;
  private readonly labels: ReadonlyMap<string, string>;
  private label: string | undefined;
  private texts: string[] = [];

  constructor(out: Markdown, kind: 'footnote' | 'endnote', labels: ReadonlyMap<string, string>) {
    super(out, new Map());
    this.kind = kind;
    this.labels = labels;
  }

  protected refer(): string {
    return '';
  }

  protected endParagraph({ text }: Paragraph): void {
    this.texts.push(text);
  }

  protected openBlock(name: string, { id }: XmlAttributes): void {
    if (name !== this.kind) return;
    this.label = this.labels.get(`${this.kind} ${id}`);
    this.texts = [];
  }

  protected closeBlock(name: string): void {
    if (name === this.kind && this.label !== undefined)
      this.out.block(`[^${this.label}]: ${oneLine(this.texts.join(' '))}`);
  }
}

const oneLine = (text: string): string => text.trim().replace(/\s+/g, ' ');
