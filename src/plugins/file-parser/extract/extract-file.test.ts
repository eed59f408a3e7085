import { deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  createDocx,
  createPdf,
  createPptx,
  createXlsx,
  createZip,
  type SampleText,
  writeRelations,
} from '../../../testing/sample-files.ts';
import { type DeclaredType, extractFile } from './extract-file.ts';

const limits = { maxPages: 50, maxCharacters: 100_000, maxUnpackedBytes: 4 * 1024 * 1024 };
const extract = (bytes: Buffer | string, declared: Partial<DeclaredType> = {}) =>
  extractFile(Buffer.from(bytes), { mediaType: '', ...declared }, limits);
const textOf = async (bytes: Buffer | string, declared?: Partial<DeclaredType>) =>
  (await extract(bytes, declared)).text;

const paragraph = (text: string, style = '') => `<w:p><w:pPr>${style}</w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`;

describe('a PDF', () => {
  it('becomes text, page after page', async () => {
    expect(await extract(createPdf([['Hello.', 'Second line.'], ['Page two.']]))).toEqual({
      kind: 'pdf',
      text: 'Hello.\nSecond line.\n\nPage two.',
      pages: 2,
    });
  });

  it('has headings where letters are large, and paragraphs where lines are far apart', async () => {
    const page: SampleText[] = [
      { text: 'Annual report', size: 24, y: 740 },
      { text: 'Results', size: 18, y: 700 },
      { text: 'Revenue grew by four percent in the year.', y: 670 },
      { text: 'Costs fell.', y: 656 },
      { text: 'A new paragraph begins here.', y: 610 },
      { text: '\x95 a point', y: 590 },
    ];
    expect(await textOf(createPdf([page]))).toBe(
      '# Annual report\n\n## Results\n\nRevenue grew by four percent in the year.\nCosts fell.\n\nA new paragraph begins here.\n- a point',
    );
  });

  it('that needs character maps says so, if pdfjs-dist is not installed', async () => {
    const font =
      '<< /Type /Font /Subtype /Type0 /BaseFont /HeiseiMin-W3 /Encoding /90ms-RKSJ-H /DescendantFonts [<< /Type /Font /Subtype /CIDFontType0 /BaseFont /HeiseiMin-W3 /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> /FontDescriptor << /Type /FontDescriptor /FontName /HeiseiMin-W3 /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >> >>] >>';
    await expect(extract(createPdf([['\x93\xfa\x96\x7b\x8c\xea']], '', font))).rejects.toThrow(
      'Its text needs character maps that this gateway lacks (npm install pdfjs-dist adds them).',
    );
  });

  it('is recognized behind bytes that do not belong to it', async () => {
    expect(await textOf(Buffer.concat([Buffer.from('\r\n\r\n'), createPdf([['Hello.']])]))).toBe('Hello.');
  });

  it.each([
    ['is truncated', createPdf([['Hello.']]).subarray(0, 150), /^It is damaged: Invalid PDF structure\.$/],
    ['is garbage', Buffer.from('%PDF-1.7 and nothing else'), /^It is damaged: /],
    [
      'has no text',
      createPdf([{ data: deflateSync(Buffer.from('0 0 10 10 re f')), filter: '/FlateDecode' }]),
      /^It contains no text\. It may be scanned/,
    ],
    ['has too many pages', createPdf(Array.from({ length: 51 }, () => ['x'])), /^It has 51 pages; at most 50 are read/],
    [
      'has too much text',
      createPdf(Array.from({ length: 40 }, () => Array.from({ length: 40 }, () => 'x'.repeat(80)))),
      /^It has more than 100000 characters/,
    ],
    [
      'is encrypted',
      createPdf(
        [['Hello.']],
        `/Encrypt << /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O <${'61'.repeat(32)}> /U <${'62'.repeat(32)}> >> /ID [<00><00>]`,
      ),
      /^It is encrypted with a password\./,
    ],
  ])('that %s is a fault', async (_what, bytes, message) => {
    await expect(extract(bytes)).rejects.toMatchObject({ name: 'FileFault', message: expect.stringMatching(message) });
  });
});

describe('a Word document', () => {
  it('keeps headings, paragraphs, line breaks and links', async () => {
    const body = [
      paragraph('Report', '<w:pStyle w:val="Titel"/>'),
      paragraph('Part one', '<w:pStyle w:val="berschrift2"/>'),
      '<w:p><w:r><w:t xml:space="preserve">See </w:t></w:r><w:hyperlink r:id="l1"><w:r><w:t>the site</w:t></w:r></w:hyperlink><w:r><w:t>.</w:t><w:br/><w:t>New</w:t><w:tab/><w:t>line &amp; more</w:t></w:r></w:p>',
      paragraph('   '),
    ].join('');
    const styles =
      '<w:styles xmlns:w="w"><w:style w:styleId="Titel"><w:name w:val="Title"/></w:style><w:style w:styleId="base"><w:name w:val="heading 2"/></w:style><w:style w:styleId="berschrift2"><w:name w:val="Mine"/><w:basedOn w:val="base"/></w:style></w:styles>';
    const bytes = createDocx(body, {
      'word/styles.xml': styles,
      'word/_rels/document.xml.rels': writeRelations({
        s: ['styles', 'styles.xml'],
        l1: ['hyperlink', 'https://example.org/a'],
      }),
    });
    expect(await extract(bytes)).toEqual({
      kind: 'docx',
      text: '# Report\n\n## Part one\n\nSee [the site](https://example.org/a).\nNew line & more',
    });
  });

  it('keeps lists with their numbers and levels', async () => {
    const item = (text: string, list: number, level = 0) =>
      paragraph(text, `<w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${list}"/></w:numPr>`);
    const numbering =
      '<w:numbering xmlns:w="w"><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>';
    const bytes = createDocx(
      [item('one', 1), item('detail', 1, 1), item('two', 1), item('dot', 7), paragraph('End.')].join(''),
      {
        'word/numbering.xml': numbering,
        'word/_rels/document.xml.rels': writeRelations({ n: ['numbering', '/word/numbering.xml'] }),
      },
    );
    expect(await textOf(bytes)).toBe('1. one\n  - detail\n2. two\n- dot\n\nEnd.');
  });

  it('keeps tables, with a table inside of a cell', async () => {
    const cell = (inside: string, properties = '') => `<w:tc><w:tcPr>${properties}</w:tcPr>${inside}</w:tc>`;
    const inner = `<w:tbl><w:tr>${cell(paragraph('a'))}${cell(paragraph('b'))}</w:tr></w:tbl><w:p/>`;
    const bytes = createDocx(
      `<w:tbl><w:tr>${cell(paragraph('Name | first'))}${cell(paragraph('Sum'))}</w:tr><w:tr>${cell(paragraph('x') + paragraph('y'))}${cell(inner)}</w:tr><w:tr>${cell(paragraph('both'), '<w:gridSpan w:val="2"/>')}</w:tr></w:tbl>`,
    );
    expect(await textOf(bytes)).toBe('| Name \\| first | Sum |\n| --- | --- |\n| x y | a / b |\n| both |  |');
  });

  it('omits deleted text, and writes notes at the end', async () => {
    const bytes = createDocx(
      '<w:p><w:del><w:r><w:delText>old</w:delText><w:t>older</w:t></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:r><w:footnoteReference w:id="2"/></w:r></w:p>',
      {
        'word/footnotes.xml':
          '<w:footnotes xmlns:w="w"><w:footnote w:id="-1"><w:p/></w:footnote><w:footnote w:id="2"><w:p><w:r><w:t>The note.</w:t></w:r></w:p></w:footnote></w:footnotes>',
        'word/_rels/document.xml.rels': writeRelations({ f: ['footnotes', 'footnotes.xml'] }),
      },
    );
    expect(await textOf(bytes)).toBe('new[^2]\n\n[^2]: The note.');
  });

  it('writes the text of a box once', async () => {
    const box = (text: string) => `<w:txbxContent>${paragraph(text)}</w:txbxContent>`;
    const bytes = createDocx(
      `<w:p><w:r><mc:AlternateContent xmlns:mc="m"><mc:Choice>${box('In a box')}</mc:Choice><mc:Fallback>${box('In a box')}</mc:Fallback></mc:AlternateContent></w:r><w:r><w:t>Outside</w:t></w:r></w:p>`,
    );
    expect(await textOf(bytes)).toBe('In a box\n\nOutside');
  });
});

describe('a workbook', () => {
  const number = (at: string, value: string | number, more = '') => `<c r="${at}" ${more}><v>${value}</v></c>`;

  it('becomes a table per visible sheet', async () => {
    const bytes = createXlsx(
      {
        Prices: `<row r="1">${number('A1', 0, 't="s"')}${number('B1', 1, 't="s"')}</row><row r="2"><c r="A2" t="inlineStr"><is><r><t>Tea</t></r><r><t>, green</t></r></is></c>${number('B2', 2.5)}${number('C2', 1, 't="b"')}</row>`,
        Other: `<row r="1">${number('A1', '#DIV/0!', 't="e"')}</row>`,
      },
      {
        'xl/sharedStrings.xml':
          '<sst xmlns="x"><si><t>Item</t></si><si><r><t>Pri</t></r><r><t>ce</t></r><rPh><t>nope</t></rPh></si></sst>',
      },
    );
    expect(await extract(bytes)).toEqual({
      kind: 'xlsx',
      text: '## Prices\n\n| Item | Price |  |\n| --- | --- | --- |\n| Tea, green | 2.5 | TRUE |\n\n## Other\n\n| #DIV/0! |\n| --- |',
    });
  });

  it('writes numbers with a date format as dates', async () => {
    const styles =
      '<styleSheet xmlns="x"><numFmts><numFmt numFmtId="164" formatCode="[$-407]dd/mm/yyyy&quot;d&quot;"/><numFmt numFmtId="165" formatCode="0.0&quot;d&quot;"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="20"/></cellXfs></styleSheet>';
    const row = [
      number('A1', 45_000, 's="1"'),
      number('B1', 45_000.75, 's="2"'),
      number('C1', 45_000, 's="3"'),
      number('D1', 0.5, 's="4"'),
      number('E1', 1, 's="1"'),
      number('F1', 'x', 's="1"'),
    ].join('');
    const bytes = createXlsx({ Days: `<row r="1">${row}</row>` }, { 'xl/styles.xml': styles });
    expect(await textOf(bytes)).toContain('| 2023-03-15 | 2023-03-15 18:00:00 | 45000 | 12:00:00 | 1900-01-01 | x |');
  });

  it('costs nothing for a value far away from the others', async () => {
    const bytes = createXlsx({
      Far: `<row r="1">${number('A1', 1)}</row><row r="1048576">${number('XFD1048576', 2)}</row>`,
    });
    expect(await textOf(bytes)).toBe('## Far\n\n| 1 |  |\n| --- | --- |\n|  | 2 |');
  });

  it('omits hidden sheets', async () => {
    const bytes = createXlsx({
      'A" state="hidden': `<row>${number('A1', 1)}</row>`,
      B: `<row>${number('A1', 2)}</row>`,
    });
    expect(await textOf(bytes)).toBe('## B\n\n| 2 |\n| --- |');
  });

  it('with values on a diagonal is a fault, not a huge table', async () => {
    const rows = Array.from(
      { length: 3000 },
      (_, at) => `<row r="${at + 1}">${number(`${columnName(at + 1)}1`, 1)}</row>`,
    );
    await expect(extract(createXlsx({ Diagonal: rows.join('') }))).rejects.toThrow(
      'It has a sheet of 3000 rows and 3000 columns',
    );
  });
});

const columnName = (column: number): string =>
  (column > 26 ? columnName(Math.floor((column - 1) / 26)) : '') + String.fromCharCode(65 + ((column - 1) % 26));

describe('a presentation', () => {
  const shape = (text: string, type = 'body') =>
    `<p:sp><p:nvSpPr><p:nvPr><p:ph type="${type}"/></p:nvPr></p:nvSpPr><p:txBody>${text}</p:txBody></p:sp>`;
  const line = (text: string, level = 0) => `<a:p><a:pPr lvl="${level}"/><a:r><a:t>${text}</a:t></a:r></a:p>`;

  it('becomes slides with titles, texts, tables and notes', async () => {
    const table =
      '<p:graphicFrame><a:graphic><a:tbl><a:tr><a:tc><a:txBody><a:p><a:r><a:t>a</a:t></a:r></a:p></a:txBody></a:tc><a:tc><a:txBody><a:p><a:r><a:t>b</a:t></a:r></a:p></a:txBody></a:tc></a:tr></a:tbl></a:graphic></p:graphicFrame>';
    const bytes = createPptx(
      [shape(line('Welcome'), 'title') + shape(line('First') + line('Deeper', 1)) + shape(line('7'), 'sldNum'), table],
      {
        'ppt/slides/_rels/slide1.xml.rels': writeRelations({ n: ['notesSlide', '../notesSlides/n1.xml'] }),
        'ppt/notesSlides/n1.xml': `<p:notes xmlns:p="p" xmlns:a="a">${shape(line('Say hello.'))}${shape(line('1'), 'sldNum')}</p:notes>`,
      },
    );
    expect(await extract(bytes)).toEqual({
      kind: 'pptx',
      text: '## Slide 1: Welcome\n\nFirst\n  - Deeper\n\nNotes: Say hello.\n\n## Slide 2\n\n| a | b |\n| --- | --- |',
      pages: 2,
    });
  });
});

describe('a page', () => {
  it('becomes markdown without scripts and styles', async () => {
    const page = `<!doctype html><html><head><title>The  page</title><style>a{}</style></head><body>
      <h1>The page</h1><script>alert("no")</script>
      <p>Some <b>text</b> with a <a href="https://example.org/x">link</a> &amp; an <a href="javascript:x()">action</a>.</p>
      <ul><li>one<li>two<ol><li>deep</ol></ul>
      <table><tr><th>A<th>B<tr><td>1<td>2</table>
      <pre><code>  a
   b</code></pre><blockquote><p>quoted</p></blockquote><noscript>never</noscript></body></html>`;
    expect(await extract(page)).toEqual({
      kind: 'html',
      text: '# The page\n\nSome text with a [link](https://example.org/x) & an action.\n\n- one\n- two\n  1. deep\n\n| A | B |\n| --- | --- |\n| 1 | 2 |\n\n```\n  a\n   b\n```\n\n> quoted',
    });
  });

  it('may be a fragment, if it is declared as HTML', async () => {
    expect(await extract('<p>Hello <i>you</i><br>there', { mediaType: 'text/html' })).toMatchObject({
      kind: 'html',
      text: 'Hello you\nthere',
    });
    expect(await extract('<p>Hello', { mediaType: 'text/markdown' })).toMatchObject({ kind: 'text', text: '<p>Hello' });
  });
});

describe('text', () => {
  it.each<[string, Buffer | string, Partial<DeclaredType>, string]>([
    ['of any type that is UTF-8', '{"a": "ü"}', { mediaType: 'application/octet-stream' }, '{"a": "ü"}'],
    ['with a byte order mark', '\ufeffa,b', {}, 'a,b'],
    ['in UTF-16', Buffer.from('\ufeffgrün', 'utf16le'), {}, 'grün'],
    [
      'in a declared encoding',
      Buffer.from('gr\xfcn', 'latin1'),
      { mediaType: 'text/plain', charset: 'iso-8859-1' },
      'grün',
    ],
    [
      'in a declared encoding that looks like ASCII',
      Buffer.from('\x1b$BF|K\\\x1b(B', 'latin1'),
      { mediaType: 'text/plain', charset: 'iso-2022-jp' },
      '日本',
    ],
    [
      'with a byte order mark, whatever is declared',
      '\ufeffgrün',
      { mediaType: 'text/plain', charset: 'koi8-r' },
      'grün',
    ],
    [
      'in a declared encoding, except for one byte',
      Buffer.from('gr\xc3\xbcn \xff', 'latin1'),
      { mediaType: 'text/plain', charset: 'utf-8' },
      'grün \ufffd',
    ],
    [
      'that is XML and names its encoding',
      Buffer.from('<?xml version="1.0" encoding="windows-1251"?><a>\xcf\xf0\xe8</a>', 'latin1'),
      { mediaType: 'application/xml' },
      '<?xml version="1.0" encoding="windows-1251"?><a>При</a>',
    ],
    ['in no declared encoding', Buffer.from('\x93gr\xfcn\x94', 'latin1'), { mediaType: 'text/csv' }, '“grün”'],
  ])('%s is kept as it is', async (_what, bytes, declared, text) => {
    expect(await extract(bytes, declared)).toEqual({ kind: 'text', text });
  });
});

describe('is a fault that says what the file is:', () => {
  const bomb = Buffer.concat([Buffer.from('<w:document>'), Buffer.alloc(8 * 1024 * 1024, ' ')]);
  const attributes = Array.from({ length: 1001 }, (_, at) => ` a${at}=""`).join('');
  it.each<[string, Buffer, Partial<DeclaredType>, string]>([
    ['nothing', Buffer.alloc(0), {}, 'It is empty.'],
    ['blanks', Buffer.from(' \n'), {}, 'It contains no text.'],
    [
      'an image',
      Buffer.from('\x89PNG\r\n\x1a\n\0\0', 'latin1'),
      { mediaType: 'application/pdf' },
      'It is a PNG image. Send it as `input_image`.',
    ],
    [
      'a program that says it is text',
      Buffer.from('\x7fELF\x02\x01\0\0', 'latin1'),
      { mediaType: 'text/plain' },
      'It is a program.',
    ],
    [
      'binary data',
      Buffer.from([1, 2, 3, 0, 255]),
      { mediaType: 'application/x-thing' },
      'It is neither text nor a format that is read, although it is declared as application/x-thing.',
    ],
    ['Latin-1 without a type', Buffer.from('gr\xfcn', 'latin1'), {}, 'It is neither text nor a format that is read.'],
    ['a ZIP archive', createZip({ 'a.txt': 'hi' }), { mediaType: 'application/pdf' }, 'It is a ZIP archive.'],
    [
      'an OpenDocument file',
      createZip({ mimetype: 'application/vnd.oasis.opendocument.text' }),
      {},
      'It is an OpenDocument or EPUB file',
    ],
    [
      'an Office file without its main part',
      createDocx('', { '_rels/.rels': writeRelations({}) }),
      {},
      'It is damaged: its main part is missing.',
    ],
    [
      'a truncated Office file',
      createDocx(paragraph('x')).subarray(0, 300),
      {},
      'It is damaged: the end of its ZIP archive is missing.',
    ],
    ['malformed XML', createDocx('<w:p>'), {}, 'It is damaged: its part word/document.xml is not valid XML'],
    [
      'an encrypted archive',
      createDocx('', { 'word/document.xml': { data: '<w:document/>', flags: 1 } }),
      {},
      'It is encrypted with a password.',
    ],
    [
      'a document with too many attributes',
      createDocx(`<w:p${attributes}/>`),
      {},
      'an element of more than 1000 attributes',
    ],
    [
      'a workbook with too many attributes',
      createXlsx({ Sheet: `<row${attributes}/>` }),
      {},
      'an element of more than 1000 attributes',
    ],
    [
      'a page with too many attributes',
      Buffer.from(`<!doctype html><p${attributes}>`),
      {},
      'an element of more than 1000 attributes',
    ],
    [
      'an archive that unpacks to much more',
      createDocx('', { 'word/document.xml': bomb }),
      {},
      'It unpacks to more than 4194304 bytes (plugins.file_parser.max_unpacked_bytes).',
    ],
    [
      'such an archive that says otherwise',
      createDocx('', { 'word/document.xml': { data: bomb, declaredBytes: 100 } }),
      {},
      'It unpacks to more than 4194304 bytes',
    ],
    [
      'an older Office file',
      Buffer.from('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'latin1'),
      {},
      'It is an Office file of before 2007',
    ],
    [
      'an encrypted Office file',
      Buffer.concat([
        Buffer.from('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1', 'latin1'),
        Buffer.from('EncryptedPackage', 'utf16le'),
      ]),
      {},
      'It is encrypted with a password.',
    ],
    [
      'entities that multiply',
      createDocx('', {
        'word/document.xml': `<!DOCTYPE w [<!ENTITY a "aaaaaaaaaa">${[...'bcdefgh'].map((name, at) => `<!ENTITY ${name} "${`&${'abcdefg'[at]};`.repeat(10)}">`).join('')}]><w:document xmlns:w="w"><w:p>&h;</w:p></w:document>`,
      }),
      {},
      'It is damaged: its part word/document.xml has a document type.',
    ],
    [
      'too much text',
      Buffer.from('x'.repeat(100_001)),
      {},
      'It has more than 100000 characters of text (plugins.file_parser.max_characters).',
    ],
  ])('%s', async (_what, bytes, declared, message) => {
    await expect(extract(bytes, declared)).rejects.toMatchObject({
      name: 'FileFault',
      message: expect.stringContaining(message),
    });
  });
});
