import { detectFormat, nameFormat } from './detect-format.ts';
import { damaged, FileFault } from './file-fault.ts';
import { Markdown } from './markdown.ts';
import { findRelated, readRelations } from './office-package.ts';
import { decodeText, isTextType } from './plain-text.ts';
import { type ArchivePart, ZipArchive } from './zip-archive.ts';

export interface ExtractLimits {
  maxPages: number;
  /** Characters of the text. */
  maxCharacters: number;
  /** Bytes that the parts of an archive have together. */
  maxUnpackedBytes: number;
}

/** Description of a file by its sender. Used only if the bytes do not decide. */
export interface DeclaredType {
  /** Lower case, without parameters. Empty: unknown. */
  mediaType: string;
  charset?: string | undefined;
  /** URL of a web page, whose navigation is left out. Undefined for other files. */
  address?: string | undefined;
}

export interface ExtractedFile {
  kind: 'pdf' | 'docx' | 'xlsx' | 'pptx' | 'html' | 'text';
  /** Markdown; for plain text, the text itself. */
  text: string;
  /** Pages of a PDF, slides of a presentation. */
  pages?: number;
}

/**
 * Extracts the text of a file. Its bytes determine its format, not its name.
 *
 * @param only `pages` counts the pages of a PDF, which may have no text
 * @throws {FileFault} if it cannot be read
 */
export async function extractFile(
  bytes: Buffer,
  declared: DeclaredType,
  limits: ExtractLimits,
  only?: 'pages',
): Promise<ExtractedFile> {
  const out = new Markdown(limits.maxCharacters);
  if (bytes.length === 0) throw new FileFault('It is empty.');
  switch (detectFormat(bytes)) {
    case 'pdf': {
      const { readPdf } = await import('./pdf.ts');
      const pages = await readPdf(bytes, limits.maxPages, only ? undefined : out);
      return { kind: 'pdf', text: out.text, pages };
    }
    case 'zip':
      return readOffice(bytes, limits, out);
    case 'ole':
      throw explainOle(bytes);
    case 'other':
      return readTextual(bytes, declared, out);
  }
}

async function readOffice(bytes: Buffer, limits: ExtractLimits, out: Markdown): Promise<ExtractedFile> {
  const archive = new ZipArchive(bytes, limits.maxUnpackedBytes);
  const main = findRelated(archive, await readRelations(archive, ''), 'officeDocument');
  if (!main) {
    if (archive.has('[Content_Types].xml')) throw damaged('its main part is missing');
    throw new FileFault(
      archive.has('mimetype')
        ? 'It is an OpenDocument or EPUB file, which is not read. Send it as PDF, DOCX, XLSX or PPTX.'
        : 'It is a ZIP archive. Send the files that it contains.',
    );
  }
  switch (await readRoot(main)) {
    case 'document': {
      const { readDocx } = await import('./docx.ts');
      await readDocx(archive, main, out);
      return withText({ kind: 'docx', text: out.text });
    }
    case 'workbook': {
      const { readXlsx } = await import('./xlsx.ts');
      await readXlsx(archive, main, out);
      return withText({ kind: 'xlsx', text: out.text });
    }
    case 'presentation': {
      const { readPptx } = await import('./pptx.ts');
      const pages = await readPptx(archive, main, out);
      return withText({ kind: 'pptx', text: out.text, pages });
    }
    default:
      throw new FileFault('It is an Office file of a kind that is not read. Send it as PDF, DOCX, XLSX or PPTX.');
  }
}

/** Returns the name of the first element, without its prefix. */
async function readRoot({ unpack }: ArchivePart): Promise<string | undefined> {
  for await (const piece of unpack()) {
    const begin = piece.toString('latin1', 0, 4096).replaceAll('\0', '');
    return /<(?:[\w.-]+:)?([A-Za-z][\w.-]*)[\s/>]/.exec(begin)?.[1];
  }
  return undefined;
}

function withText(file: ExtractedFile): ExtractedFile {
  if (file.text.trim() === '') throw new FileFault('It contains no text.');
  return file;
}

/** The container of the older Office formats, and of encrypted newer ones. */
function explainOle(bytes: Buffer): FileFault {
  return bytes.includes(Buffer.from('EncryptedPackage', 'utf16le'))
    ? new FileFault('It is encrypted with a password. Send it without the password.')
    : new FileFault('It is an Office file of before 2007 (.doc, .xls, .ppt). Send it as PDF, DOCX, XLSX or PPTX.');
}

async function readTextual(
  bytes: Buffer,
  { mediaType, charset, address }: DeclaredType,
  out: Markdown,
): Promise<ExtractedFile> {
  const known = nameFormat(bytes);
  const isDeclared = isTextType(mediaType);
  const text = known === undefined || isDeclared ? decodeText(bytes, { isDeclared, charset }) : undefined;
  if (text === undefined) {
    const what = known === undefined ? `neither text nor a format that is read${said(mediaType)}` : known;
    const hint = known?.endsWith('image')
      ? ' Send it as `input_image`.'
      : ' PDF, DOCX, XLSX, PPTX, HTML and text are read.';
    throw new FileFault(`It is ${what}.${hint}`);
  }
  if (
    /^\s*(?:<!--.{0,2000}?-->\s*)*<(?:!doctype html|html)[\s>]/is.test(text.slice(0, 4096)) ||
    mediaType === 'text/html' ||
    mediaType === 'application/xhtml+xml'
  ) {
    const { readHtml } = await import('./html.ts');
    readHtml(text, out, address);
    return withText({ kind: 'html', text: out.text });
  }
  out.write(text);
  return withText({ kind: 'text', text: out.text });
}

const said = (mediaType: string): string =>
  mediaType === '' ? '' : `, although it is declared as ${mediaType.slice(0, 100)}`;
