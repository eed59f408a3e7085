import { crc32, deflateRawSync } from 'node:zlib';

/** A piece of text of a page. */
export interface SampleText {
  text: string;
  /** Points. */
  size?: number;
  /** Distance from the lower edge, in points. */
  y: number;
}

/** A stream of a PDF, with its filters. */
export interface SampleStream {
  data: Buffer;
  filter: string;
}

/**
 * Writes a PDF.
 *
 * @param pages each a list of lines, placed texts, or the bytes of its content
 * @param trailer further entries of the trailer, such as `/Encrypt`
 */
export function createPdf(
  pages: readonly (string[] | SampleText[] | SampleStream)[],
  trailer = '',
  fontObject = '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
): Buffer {
  const objects: Buffer[] = [];
  const add = (text: string, stream?: Buffer): number => {
    const tail = stream ? [Buffer.from('\nstream\n'), stream, Buffer.from('\nendstream')] : [];
    return objects.push(Buffer.concat([Buffer.from(text, 'latin1'), ...tail]));
  };
  const font = add(fontObject);
  const tree = add('');
  const kids = pages.map((page) => {
    const isStream = !Array.isArray(page);
    const data = isStream ? page.data : Buffer.from(writeContent(page), 'latin1');
    const content = add(`<< /Length ${data.length}${isStream ? ` /Filter ${page.filter}` : ''} >>`, data);
    return add(
      `<< /Type /Page /Parent ${tree} 0 R /MediaBox [0 0 612 792] /Contents ${content} 0 R /Resources << /Font << /F1 ${font} 0 R >> >> >>`,
    );
  });
  objects[tree - 1] = Buffer.from(
    `<< /Type /Pages /Count ${kids.length} /Kids [${kids.map((kid) => `${kid} 0 R`).join(' ')}] >>`,
  );
  const catalog = add(`<< /Type /Catalog /Pages ${tree} 0 R >>`);
  return writeObjects(objects, `/Size ${objects.length + 1} /Root ${catalog} 0 R ${trailer}`);
}

function writeObjects(objects: readonly Buffer[], trailer: string): Buffer {
  const pieces = [Buffer.from('%PDF-1.7\n')];
  const offsets: number[] = [];
  let offset = pieces[0]!.length;
  for (const [index, object] of objects.entries()) {
    const piece = Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), object, Buffer.from('\nendobj\n')]);
    offsets.push(offset);
    offset += piece.length;
    pieces.push(piece);
  }
  const rows = offsets.map((each) => `${String(each).padStart(10, '0')} 00000 n \n`).join('');
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`;
  return Buffer.concat([...pieces, Buffer.from(`${table}trailer << ${trailer} >>\nstartxref\n${offset}\n%%EOF\n`)]);
}

const escapeText = (text: string): string => text.replace(/[\\()]/g, '\\$&');

function writeContent(page: readonly (string | SampleText)[]): string {
  const placed = page.map(
    (line, index): SampleText => (typeof line === 'string' ? { text: line, y: 740 - 15 * index } : line),
  );
  return placed.map(({ text, size = 12, y }) => `BT /F1 ${size} Tf 50 ${y} Td (${escapeText(text)}) Tj ET`).join('\n');
}

/** How an entry of an archive is written. */
export interface SampleEntry {
  data: Buffer | string;
  /** General purpose flags: 1 is encrypted. */
  flags?: number;
  /** A wrong size, as some archives have. */
  declaredBytes?: number;
}

/** Writes a ZIP archive. */
export function createZip(entries: Readonly<Record<string, string | Buffer | SampleEntry>>): Buffer {
  const locals: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, value] of Object.entries(entries)) {
    const entry: SampleEntry = typeof value === 'string' || Buffer.isBuffer(value) ? { data: value } : value;
    const data = Buffer.from(entry.data);
    const packed = deflateRawSync(data);
    const label = Buffer.from(name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(entry.flags ?? 0, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(entry.declaredBytes ?? data.length, 18);
    common.writeUInt16LE(label.length, 22);
    const place = Buffer.alloc(16);
    place.writeUInt32LE(offset, 12);
    directory.push(Buffer.from('PK\x01\x02\x14\0', 'latin1'), common, place.subarray(2), label);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, label, packed]);
    locals.push(local);
    offset += local.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  const count = Object.keys(entries).length;
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(listed.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, listed, end]);
}

const xml = (text: string): string => `<?xml version="1.0" encoding="UTF-8"?>${text}`;
const relationTypes = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** Writes the relations of a part: id → type and target. A target with a scheme is external. */
export const writeRelations = (relations: Readonly<Record<string, readonly [type: string, target: string]>>): string =>
  xml(
    `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${Object.entries(relations)
      .map(([id, [type, target]]) => {
        const mode = /^\w+:/.test(target) ? ' TargetMode="External"' : '';
        return `<Relationship Id="${id}" Type="${relationTypes}/${type}" Target="${target}"${mode}/>`;
      })
      .join('')}</Relationships>`,
  );

const officeFile = (main: string, parts: Record<string, string | Buffer | SampleEntry>): Buffer =>
  createZip({
    '[Content_Types].xml': xml('<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'),
    '_rels/.rels': writeRelations({ r1: ['officeDocument', main] }),
    ...parts,
  });

const word = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';

/**
 * Writes a Word document.
 *
 * @param body elements of its body, with the prefix `w`
 * @param parts further parts, or replacements of these
 */
export const createDocx = (body: string, parts: Record<string, string | Buffer | SampleEntry> = {}): Buffer =>
  officeFile('word/document.xml', {
    'word/document.xml': xml(`<w:document ${word} xmlns:r="${relationTypes}"><w:body>${body}</w:body></w:document>`),
    ...parts,
  });

/** Writes a workbook. @param sheets name → `row` elements */
export function createXlsx(
  sheets: Readonly<Record<string, string>>,
  parts: Record<string, string | Buffer | SampleEntry> = {},
): Buffer {
  const names = Object.keys(sheets);
  const main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
  return officeFile('xl/workbook.xml', {
    'xl/workbook.xml': xml(
      `<workbook ${main} xmlns:r="${relationTypes}"><sheets>${names
        .map((name, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="s${index + 1}"/>`)
        .join('')}</sheets></workbook>`,
    ),
    'xl/_rels/workbook.xml.rels': writeRelations({
      ...Object.fromEntries(
        names.map((_, index) => [`s${index + 1}`, ['worksheet', `worksheets/sheet${index + 1}.xml`]]),
      ),
      t: ['sharedStrings', 'sharedStrings.xml'],
      f: ['styles', 'styles.xml'],
    }),
    ...Object.fromEntries(
      names.map((name, index) => [
        `xl/worksheets/sheet${index + 1}.xml`,
        xml(`<worksheet ${main}><sheetData>${sheets[name]}</sheetData></worksheet>`),
      ]),
    ),
    ...parts,
  });
}

/** Writes a presentation. @param slides the shapes of each, with the prefixes `p` and `a` */
export function createPptx(
  slides: readonly string[],
  parts: Record<string, string | Buffer | SampleEntry> = {},
): Buffer {
  const names =
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"';
  return officeFile('ppt/presentation.xml', {
    'ppt/presentation.xml': xml(
      `<p:presentation ${names} xmlns:r="${relationTypes}"><p:sldIdLst>${slides
        .map((_, index) => `<p:sldId id="${256 + index}" r:id="s${index + 1}"/>`)
        .join('')}</p:sldIdLst></p:presentation>`,
    ),
    'ppt/_rels/presentation.xml.rels': writeRelations(
      Object.fromEntries(slides.map((_, index) => [`s${index + 1}`, ['slide', `slides/slide${index + 1}.xml`]])),
    ),
    ...Object.fromEntries(
      slides.map((shapes, index) => [
        `ppt/slides/slide${index + 1}.xml`,
        xml(`<p:sld ${names}><p:cSld><p:spTree>${shapes}</p:spTree></p:cSld></p:sld>`),
      ]),
    ),
    ...parts,
  });
}
