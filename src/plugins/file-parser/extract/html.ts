import { Parser } from 'htmlparser2';
import { checkAttributes, checkDepth } from './file-fault.ts';
import type { Markdown } from './markdown.ts';

/** Elements whose content is no text of the page. */
const invisible = new Set(
  'script style noscript template svg math canvas iframe object embed video audio select datalist'.split(' '),
);
const blocks = new Set(
  'p div section article header footer main aside nav address figure figcaption form fieldset dl dt dd details summary blockquote body html head center'.split(
    ' ',
  ),
);

interface List {
  isOrdered: boolean;
  count: number;
}

/** A table in progress. */
interface Table {
  rows: string[][];
  isCell: boolean;
}

/** Elements beside the content of a page. */
const navigation = new Set(['nav', 'footer', 'aside']);
const navigationRoles = new Set<unknown>(['navigation', 'contentinfo', 'complementary', 'search']);

/**
 * Writes the text of a page as markdown, in one pass and without a tree of it. Runs no script and loads nothing.
 *
 * @param address of a page of the web: its navigation is left out, and its links become absolute
 * @throws {FileFault} of `out`, and if elements are nested too deeply
 */
export function readHtml(page: string, out: Markdown, address?: string): void {
  const writer = new PageWriter(out, address);
  let depth = 0;
  let count = 0;
  const parser = new Parser({
    onattribute: () => checkAttributes(++count),
    onopentag(name, attributes) {
      checkDepth(++depth);
      count = 0;
      writer.open(name, attributes);
    },
    ontext: (text) => writer.add(text),
    onclosetag(name) {
      depth--;
      writer.close(name);
    },
  });
  for (let at = 0; at < page.length; at += PIECE) parser.write(page.slice(at, at + PIECE));
  parser.end();
  writer.flush();
}

/** Characters that are parsed at a time. */
const PIECE = 65_536;

class PageWriter {
  private readonly out: Markdown;
  private readonly address: string | undefined;
  private readonly lists: List[] = [];
  private readonly tables: Table[] = [];
  private readonly links: { target: string; start: number }[] = [];
  private title: string | undefined;
  private text = '';
  private skipped = 0; // depth below an invisible element
  private preformatted = 0;
  private quoted = 0;
  private isItem = false; // whether the next block is the first one of a list item

  constructor(out: Markdown, address: string | undefined) {
    this.out = out;
    this.address = address;
  }

  open(name: string, attributes: Readonly<Record<string, string>>): void {
    if (this.skipped > 0 || invisible.has(name) || this.isNavigation(name, attributes)) {
      this.skipped++;
      return;
    }
    if (blocks.has(name)) this.flush();
    switch (name) {
      case 'br':
        this.text += '\n';
        break;
      case 'hr':
        this.flush();
        if (this.tables.length === 0) this.out.block('---');
        break;
      case 'img':
        if (attributes['alt']?.trim()) this.text += `![${attributes['alt'].trim()}]`;
        break;
      case 'a':
        this.links.push({ target: attributes['href']?.trim() ?? '', start: this.text.length });
        break;
      case 'pre':
        this.flush();
        this.preformatted++;
        break;
      case 'ul':
      case 'ol':
        this.flush();
        this.lists.push({ isOrdered: name === 'ol', count: 0 });
        break;
      case 'li': {
        this.flush();
        const list = this.lists.at(-1);
        if (list) list.count++;
        this.isItem = list !== undefined;
        break;
      }
      case 'blockquote':
        this.quoted++;
        break;
      case 'table':
        this.flush();
        this.tables.push({ rows: [], isCell: false });
        break;
      case 'tr':
        this.tables.at(-1)?.rows.push([]);
        break;
      case 'td':
      case 'th': {
        const table = this.tables.at(-1);
        if (!table) break;
        if (table.rows.length === 0) table.rows.push([]);
        table.rows.at(-1)!.push('');
        this.text = '';
        table.isCell = true;
        break;
      }
      case 'title':
        this.flush();
        break;
      default:
        if (isHeading(name)) this.flush();
    }
  }

  add(text: string): void {
    if (this.skipped > 0) return;
    this.text += this.preformatted > 0 ? text : text.replace(/[ \t\r\n\f]+/g, ' ');
    this.out.check(this.text.length);
  }

  close(name: string): void {
    if (this.skipped > 0) {
      this.skipped--;
      return;
    }
    if (isHeading(name)) {
      this.endHeading(Number(name[1]));
      return;
    }
    if (blocks.has(name)) this.flush();
    switch (name) {
      case 'a':
        this.endLink();
        break;
      case 'pre':
        this.endPreformatted();
        break;
      case 'ul':
      case 'ol':
        this.flush();
        this.lists.pop();
        break;
      case 'li':
        this.flush();
        this.isItem = false;
        break;
      case 'blockquote':
        this.quoted--;
        break;
      case 'td':
      case 'th': {
        const table = this.tables.at(-1);
        this.flush();
        if (table) table.isCell = false;
        break;
      }
      case 'table':
        this.endTable();
        break;
      case 'title':
        this.endTitle();
    }
  }

  /** Ends the block in progress. */
  flush(): void {
    const text = tidy(this.text);
    this.text = '';
    this.links.length = 0;
    if (text === '') return;
    const table = this.tables.at(-1);
    if (table) {
      addToCell(table, text);
      return;
    }
    const block = this.quoted > 0 ? `> ${text.replaceAll('\n', '\n> ')}` : text;
    const list = this.lists.at(-1);
    if (!list) {
      this.out.block(block);
      return;
    }
    const indentation = '  '.repeat(Math.min(this.lists.length, MAX_INDENTATION) - 1);
    if (this.isItem) this.out.item(`${indentation}${list.isOrdered ? `${list.count}.` : '-'} `, block);
    else this.out.item(`${indentation}  `, block);
    this.isItem = false;
  }

  private endHeading(level: number): void {
    const text = oneLine(this.text);
    this.text = '';
    this.links.length = 0;
    const table = this.tables.at(-1);
    if (text === '' || (level === 1 && text === this.title)) return;
    if (table) addToCell(table, text);
    else this.out.block(`${'#'.repeat(level)} ${text}`);
  }

  private endTitle(): void {
    const text = oneLine(this.text);
    this.text = '';
    if (text === '' || this.title !== undefined || this.tables.length > 0) return;
    this.title = text;
    this.out.block(`# ${text}`);
  }

  private isNavigation(name: string, { role }: Readonly<Record<string, string>>): boolean {
    return this.address !== undefined && (navigation.has(name) || navigationRoles.has(role));
  }

  private endLink(): void {
    const link = this.links.pop();
    const target = link && this.resolve(link.target);
    if (!target || !/^(?:https?:|mailto:|\/|\.)/i.test(target)) return;
    const label = this.text.slice(link.start);
    if (label.trim() !== '') this.text = `${this.text.slice(0, link.start)}[${label.trim()}](${target})`;
  }

  /** Returns the absolute form of a link in a page of the web. */
  private resolve(target: string): string | undefined {
    if (this.address === undefined || target === '' || target.startsWith('#')) return target;
    return URL.parse(target, this.address)?.href;
  }

  private endPreformatted(): void {
    this.preformatted = Math.max(0, this.preformatted - 1);
    const { text } = this;
    const table = this.tables.at(-1);
    if (this.preformatted > 0) return;
    this.text = '';
    this.links.length = 0;
    if (text.trim() === '') return;
    if (table) addToCell(table, text.trim());
    else this.out.block(`\`\`\`\n${text.replace(/^\n+|\s+$/g, '')}\n\`\`\``);
  }

  private endTable(): void {
    this.flush();
    const table = this.tables.pop();
    if (!table) return;
    const rows = table.rows.filter((row) => row.some((cell) => cell !== ''));
    const outer = this.tables.at(-1);
    if (outer) addToCell(outer, rows.map((row) => row.join(' / ')).join('\n'));
    else if (rows.length === 1 || rows.every((row) => row.length === 1)) {
      for (const row of rows) this.out.block(row.filter((cell) => cell !== '').join('\n\n')); // it only makes a layout
    } else this.out.table(rows);
  }
}

const MAX_INDENTATION = 8;

/** Text of a table outside of its cells, such as a caption, becomes a row. */
function addToCell(table: Table, text: string): void {
  const row = table.rows.at(-1);
  if (!table.isCell || !row) table.rows.push([text]);
  else row[row.length - 1] = row.at(-1) === '' ? text : `${row.at(-1)}\n${text}`;
}

const isHeading = (name: string): boolean => name.length === 2 && name[0] === 'h' && name[1]! >= '1' && name[1]! <= '6';

const tidy = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim())
    .join('\n')
    .trim();

const oneLine = (text: string): string => text.trim().replace(/\s+/g, ' ');
