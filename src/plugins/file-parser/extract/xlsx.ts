import { damaged, FileFault } from './file-fault.ts';
import type { Markdown } from './markdown.ts';
import { findRelated, readRelations } from './office-package.ts';
import { type XmlAttributes, readXml } from './read-xml.ts';
import type { ArchivePart, ZipArchive } from './zip-archive.ts';

/**
 * Writes each visible sheet of a workbook as a table. Empty rows and columns are omitted, so one value far away from the
 * others costs nothing.
 *
 * @param main its main part, `xl/workbook.xml`
 * @throws {FileFault}
 */
export async function readXlsx(archive: ZipArchive, main: ArchivePart, out: Markdown): Promise<void> {
  const relations = await readRelations(archive, main.name);
  const sheets: { name: string; target: string }[] = [];
  let has1904Dates = false;
  await readXml(main, {
    open(name, attributes) {
      if (name === 'workbookPr') has1904Dates = attributes['date1904'] === '1' || attributes['date1904'] === 'true';
      if (name !== 'sheet' || attributes['state'] === 'hidden' || attributes['state'] === 'veryHidden') return;
      const { type, target } = relations.get(attributes['r:id'] ?? '') ?? {};
      if (type === 'worksheet' && target) sheets.push({ name: attributes['name'] ?? '', target });
    },
  });
  const shared = findRelated(archive, relations, 'sharedStrings');
  const styles = findRelated(archive, relations, 'styles');
  const texts = shared ? await readSharedTexts(shared) : [];
  const dateStyles = styles ? await readDateStyles(styles) : new Set<number>();
  for (const { name, target } of sheets) {
    const part = archive.find(target);
    if (!part) throw damaged(`its sheet ${name} is missing`);
    const rows = await readSheet(part, { texts, dateStyles, has1904Dates });
    out.block(`## ${name}`);
    out.table(rows);
  }
}

async function readSharedTexts(part: ArchivePart): Promise<string[]> {
  const texts: string[] = [];
  let isText = false;
  let phonetic = 0; // the pronunciation of a text is not part of it
  await readXml(part, {
    open(name) {
      if (name === 'si') texts.push('');
      else if (name === 'rPh') phonetic++;
      else if (name === 't') isText = phonetic === 0;
    },
    text(text) {
      if (isText) texts[texts.length - 1] += text;
    },
    close(name) {
      if (name === 't') isText = false;
      else if (name === 'rPh') phonetic--;
    },
  });
  return texts;
}

/** Numbers of built-in formats that show a date or a time. @see ECMA-376 part 1, 18.8.30 */
const isBuiltInDate = (format: number): boolean =>
  (format >= 14 && format <= 22) || (format >= 27 && format <= 36) || (format >= 45 && format <= 58);

/** Indexes of the cell styles that show a number as a date or a time. */
async function readDateStyles(part: ArchivePart): Promise<Set<number>> {
  const own = new Map<number, boolean>();
  const styles = new Set<number>();
  let isCellStyles = false;
  let index = 0;
  await readXml(part, {
    open(name, { numFmtId, formatCode = '' }) {
      if (name === 'numFmt') own.set(Number(numFmtId), isDateFormat(formatCode));
      else if (name === 'cellXfs') isCellStyles = true;
      else if (name === 'xf' && isCellStyles) {
        const format = Number(numFmtId);
        if (own.get(format) ?? isBuiltInDate(format)) styles.add(index);
        index++;
      }
    },
    close(name) {
      if (name === 'cellXfs') isCellStyles = false;
    },
  });
  return styles;
}

/** Ignores texts in quotes, escaped characters, and colors or conditions in brackets. */
const isDateFormat = (code: string): boolean =>
  /[ymdhs]/i.test(code.slice(0, 500).replace(/"[^"]*"|\\.|\[[^\]hms]*\]/gi, ''));

interface SheetContext {
  texts: readonly string[];
  dateStyles: ReadonlySet<number>;
  has1904Dates: boolean;
}

/** The most cells with a value of one sheet. */
const MAX_CELLS = 1_000_000;

/** @returns the rows that have values, with the columns that have values */
async function readSheet(part: ArchivePart, context: SheetContext): Promise<string[][]> {
  const rows: Map<number, string>[] = [];
  const columns = new Set<number>();
  let row = new Map<number, string>();
  let cell: XmlAttributes = {};
  let column = 0;
  let value: string | undefined;
  let isValue = false;
  let count = 0;
  await readXml(part, {
    open(name, attributes) {
      if (name === 'row') {
        row = new Map();
        column = 0;
      } else if (name === 'c') {
        cell = attributes;
        column = readColumn(attributes['r']) ?? column + 1;
        value = undefined;
      } else if (name === 'v' || name === 't') {
        isValue = true;
        value ??= '';
      }
    },
    text(text) {
      if (isValue) value += text;
    },
    close(name) {
      if (name === 'v' || name === 't') isValue = false;
      else if (name === 'c' && value !== undefined) {
        const text = writeValue(value, cell, context);
        if (text.trim() === '') return;
        if (++count > MAX_CELLS) throw new FileFault(`It has a sheet of more than ${MAX_CELLS} values.`);
        row.set(column, text);
        columns.add(column);
      } else if (name === 'row' && row.size > 0) rows.push(row);
    },
  });
  const used = [...columns].sort((a, b) => a - b);
  if (rows.length * used.length > MAX_PLACES) {
    throw new FileFault(`It has a sheet of ${rows.length} rows and ${used.length} columns, which is too large.`);
  }
  return rows.map((cells) => used.map((each) => cells.get(each) ?? ''));
}

/** The most places of a table, empty ones included: values may be on a diagonal. */
const MAX_PLACES = 4_000_000;

/** @returns the number of a column from a reference such as `BC12`: 55; undefined without a reference */
function readColumn(reference: string | undefined): number | undefined {
  const letters = /^\$?([A-Z]{1,3})/.exec(reference ?? '')?.[1];
  if (letters === undefined) return undefined;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0);
}

function writeValue(value: string, { t: type, s: style }: XmlAttributes, context: SheetContext): string {
  switch (type) {
    case 's':
      return context.texts[Number(value)] ?? '';
    case 'b':
      return value === '1' ? 'TRUE' : 'FALSE';
    case 'str':
    case 'inlineStr':
    case 'e':
    case 'd':
      return value;
    default:
      return context.dateStyles.has(Number(style)) ? writeDate(value, context.has1904Dates) : value;
  }
}

const DAY_MS = 86_400_000;
/** Days from the epoch of a workbook to 1970. Day 60 of the usual epoch, 29 February 1900, never existed. */
const DAYS_1900 = 25_569;
const DAYS_1904 = 24_107;

/** Writes the number of a day as an ISO date, with the time of the day if it has one. */
function writeDate(value: string, has1904Dates: boolean): string {
  const days = Number(value);
  if (!Number.isFinite(days) || days < 0 || days > 2_958_466) return value;
  if (days < 1) return new Date(Math.round(days * DAY_MS)).toISOString().slice(11, 19); // a time without a date
  const start = has1904Dates ? DAYS_1904 : days < 60 ? DAYS_1900 - 1 : DAYS_1900;
  const text = new Date(Math.round((days - start) * 86_400) * 1000).toISOString();
  return text.endsWith('T00:00:00.000Z') ? text.slice(0, 10) : text.slice(0, 19).replace('T', ' ');
}
