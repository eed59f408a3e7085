import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { parseImage } from '../../domain/parse-image.ts';
import { findUnsafeContent } from './check-svg.ts';
import { checkImage, type ImageError, type ImageLimits } from './check-image.ts';
import type { ImageFileFormat } from './image-format.ts';

const plain = (width = 40, height = 30) =>
  sharp({
    create: {
      width,
      height,
      channels: 3,
      background: { r: 200, g: 30, b: 90 },
      noise: { type: 'gaussian', mean: 120, sigma: 40 },
    },
  });
const png = () => plain().png().toBuffer();
const svg = (inside: string, attributes = '') =>
  Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" width="20" height="10" ${attributes}>${inside}</svg>`);
const all: Partial<ImageLimits> = { formats: ['png', 'jpeg', 'webp', 'gif', 'avif', 'heic', 'svg'] };

/** Frames of noise, because equal ones would be merged. */
async function moving(format: 'gif' | 'webp', frames: number): Promise<Buffer> {
  const pieces = await Promise.all(Array.from({ length: frames }, () => plain(16, 16).png().toBuffer()));
  return sharp(pieces, { join: { animated: true } })
    [format]()
    .toBuffer();
}

const faultOf = async (work: Promise<unknown>): Promise<ImageError> =>
  work.then(
    () => expect.unreachable('it was accepted'),
    (error) => error,
  );

describe('a picture is what its bytes say:', () => {
  it.each(['png', 'jpeg', 'webp', 'gif', 'avif'] as const)('%s', async (format) => {
    const bytes = await plain()[format]().toBuffer();

    expect(await checkImage(bytes, all)).toEqual({
      format,
      mediaType: `image/${format}`,
      width: 40,
      height: 30,
      frames: 1,
    });
  });

  it.each(['gif', 'webp'] as const)('a %s that moves', async (format) => {
    expect(await checkImage(await moving(format, 3))).toMatchObject({ format, width: 16, height: 16, frames: 3 });
  });

  it('svg', async () => {
    const bytes = Buffer.concat([
      Buffer.from('\ufeff<?xml version="1.0" encoding="UTF-8"?>\n<!-- drawn by hand -->\n'),
      svg('<defs><g id="a"/></defs><use href="#a"/><rect fill="url(#b)" style="fill:red" width="3" height="3"/>'),
    ]);

    expect(await checkImage(bytes, all)).toEqual({
      format: 'svg',
      mediaType: 'image/svg+xml',
      width: 20,
      height: 10,
      frames: 1,
    });
  });

  it.each([
    ['words about markup', svg('<title>a &lt;script&gt; and &lt;body onload="a"&gt;</title>')],
    [
      'metadata of a drawing program',
      svg(
        '<metadata><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><cc:Work xmlns:cc="http://creativecommons.org/ns#" rdf:about=""/></rdf:RDF></metadata>',
      ),
    ],
    [
      'a style sheet of its own',
      svg(
        '<style>@media screen{.a{fill:rgb(1,2,3);clip-path:url(#c)}}</style><rect class="a" transform="translate(1 2)"/>',
      ),
    ],
    ['words about code', svg('<text>once = 1; @import url(http://a.example) javascript:</text>')],
    [
      'the document type that drawing programs write',
      Buffer.concat([
        Buffer.from('<?xml version="1.0" standalone="no"?>\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 20010904//EN"\n'),
        Buffer.from(' "http://www.w3.org/TR/2001/REC-SVG-20010904/DTD/svg10.dtd">\n'),
        svg('<path d="M0 0h9v9z"/>'),
      ]),
    ],
  ])('an svg with %s', async (_what, bytes) => {
    expect(await checkImage(bytes, all)).toMatchObject({ format: 'svg', width: 20 });
  });

  it('a view of a larger buffer', async () => {
    const bytes = await png();
    const larger = Buffer.concat([Buffer.from('before'), bytes, Buffer.from('after')]);

    expect(await checkImage(larger.subarray(6, 6 + bytes.length))).toMatchObject({ format: 'png', width: 40 });
  });
});

describe('is no valid image:', () => {
  const magic = (...bytes: number[]) => Buffer.concat([Buffer.from(bytes), Buffer.alloc(200)]);

  it.each<[string, Buffer | Promise<Buffer>]>([
    ['nothing', Buffer.alloc(0)],
    ['text', Buffer.from('a picture')],
    ['a page', Buffer.from('<!doctype html><html><body><svg></svg></body></html>')],
    ['a document', Buffer.from('%PDF-1.7\n')],
    ['a program', magic(0x7f, 0x45, 0x4c, 0x46)],
    ['only the beginning of a PNG', magic(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)],
    ['only the beginning of a JPEG', magic(0xff, 0xd8, 0xff, 0xe0)],
    ['only the beginning of a WebP', Buffer.from('RIFF\x10\0\0\0WEBPVP8 ', 'latin1')],
    ['only the beginning of a GIF', Buffer.from('GIF89a')],
    ['half a PNG', png().then((bytes) => bytes.subarray(0, bytes.length >> 1))],
    [
      'half a JPEG',
      plain(400, 300)
        .jpeg()
        .toBuffer()
        .then((bytes) => bytes.subarray(0, bytes.length >> 1)),
    ],
    [
      'half a WebP',
      plain(400, 300)
        .webp()
        .toBuffer()
        .then((bytes) => bytes.subarray(0, bytes.length >> 1)),
    ],
    [
      'half a GIF',
      plain(400, 300)
        .gif()
        .toBuffer()
        .then((bytes) => bytes.subarray(0, bytes.length >> 1)),
    ],
    [
      'a PNG with a broken middle',
      png().then((bytes) => Buffer.from(bytes).fill(7, bytes.length >> 1, (bytes.length >> 1) + 40)),
    ],
  ])('%s', async (_what, bytes) => {
    expect(await faultOf(checkImage(await bytes, all))).toMatchObject({ fault: 'invalid_image' });
  });

  it.each([
    ['a script', svg('<script>alert(1)</script>')],
    ['an element that no list names', svg('<unheardOf/>')],
    ['an attribute that no list names', svg('<rect formaction="a"/>')],
    ['a style function that loads', svg(`<style>a{background:src("http://example.org/a")}</style>`)],
    ['a style rule that loads', svg('<style>@namespace a url(http://example.org);</style>')],
    ['a style in CDATA', svg('<style><![CDATA[a{fill:url(//example.org/a)}]]></style>')],
    ['a page inside', svg('<p xmlns="http://www.w3.org/1999/xhtml">a</p>')],
    ['a base for its links', svg('<g xml:base="http://example.org/"/>')],
    ['a prefix that is not bound', svg('<x:rect/>')],
    ['very deep nesting', svg('<g>'.repeat(300) + '</g>'.repeat(300))],
    ['a script under another prefix', svg('<s:script xmlns:s="http://www.w3.org/2000/svg">alert(1)</s:script>')],
    [
      'a script under a prefix of another alphabet',
      svg('<é:script xmlns:é="http://www.w3.org/2000/svg">a()</é:script>'),
    ],
    ['a link under a prefix of another alphabet', svg('<image é:href="http://example.org/a.png"/>')],
    ['a link that tells somebody', svg('<a href="#a" ping="http://example.org/"><rect/></a>')],
    ['a link right behind another', svg(`<use href='#a'href="//example.org/a.svg"/>`)],
    ['a choice of pictures', svg(`<rect style="background:image-set('http://example.org/a' 1x)"/>`)],
    ['a fill with escapes', svg('<rect fill="\\75rl(http://example.org/a)"/>')],
    ['an event handler', svg('', 'onload="alert(1)"')],
    ['an event handler behind a tag that seems to end', svg('<rect x="1>0" onclick="alert(1)"/>')],
    ['an event handler behind a quote that does not end', svg(`<text x='">' onclick="alert(1)"/>`)],
    ['an event handler on a new line', svg('<rect\nonclick = "alert(1)"/>')],
    ['foreign elements', svg('<foreignObject><p/></foreignObject>')],
    ['a picture from elsewhere', svg('<image href="http://169.254.169.254/"/>')],
    ['a picture from elsewhere, old way', svg('<image xlink:href="https://example.org/a.png"/>')],
    ['a picture from elsewhere, any prefix', svg('<image x:href="//example.org/a.png"/>')],
    ['a picture from a file', svg('<image href="file:///etc/passwd"/>')],
    ['a picture from a relative path', svg('<image href="../a.png"/>')],
    ['a drawing inside a picture', svg('<image href="data:image/svg+xml;base64,PHN2Zy8+"/>')],
    ['a shape from elsewhere', svg('<use href="http://example.org/a.svg#b"/>')],
    ['a link that is code', svg('<a href="javascript:alert(1)"><rect/></a>')],
    ['a link that is code, written as references', svg('<a href="&#106;avascript&#x3a;alert(1)"><rect/></a>')],
    ['a link that turns into code', svg('<a><set attributeName="href" to="x"/></a>')],
    ['a fill from elsewhere', svg('<rect fill="url(http://example.org/a)"/>')],
    ['a fill from elsewhere, quoted', svg(`<rect style='fill:url("//example.org/a")'/>`)],
    ['an imported style', svg('<style>@import "http://example.org/a.css";</style>')],
    ['a style with escapes', svg('<style>a{fill:\\75rl(http://example.org)}</style>')],
    ['a style sheet', Buffer.concat([Buffer.from('<?xml-stylesheet href="a.css"?>'), svg('')])],
    [
      'an external entity',
      Buffer.from(
        '<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg xmlns="http://www.w3.org/2000/svg">&x;</svg>',
      ),
    ],
    [
      'entities that multiply',
      Buffer.from(
        `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa">${'bcdefgh'
          .split('')
          .map((name, at) => `<!ENTITY ${name} "${`&${'abcdefg'[at]};`.repeat(10)}">`)
          .join('')}]><svg xmlns="http://www.w3.org/2000/svg"><text>&h;</text></svg>`,
      ),
    ],
    [
      'entities behind a known document type',
      Buffer.from(
        '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/a.dtd" [<!ENTITY x "y">]><svg xmlns="http://www.w3.org/2000/svg">&x;</svg>',
      ),
    ],
    [
      'a document type from elsewhere',
      Buffer.from('<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "//a.example/"><svg/>'),
    ],
    ['a parameter entity', Buffer.from('<!DOCTYPE svg SYSTEM "http://example.org/a.dtd"><svg/>')],
    [
      'another encoding',
      Buffer.from('<?xml version="1.0" encoding="UTF-7"?><svg xmlns="http://www.w3.org/2000/svg"/>'),
    ],
    [
      'bytes that are not UTF-8',
      Buffer.concat([Buffer.from('<svg>'), Buffer.from([0xff, 0xfe]), Buffer.from('</svg>')]),
    ],
    ['no end', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><g>')],
  ])('an SVG with %s', async (_what, bytes) => {
    expect(await faultOf(checkImage(bytes, all))).toMatchObject({ fault: 'invalid_image' });
  });
});

describe('no SVG takes long to parse:', () => {
  it.each([
    ['<svg attributeName=', ' '],
    ['<svg attributeName=', 'a'],
    ['<', 'é'],
    ['<svg ', ' é'],
    ['<svg \\', '\\'],
    ['<svg \\(', '\\a'],
    ['<svg ', ' href="'],
    ['<svg ', 'url('],
    ['<svg style=\\', 'a.'],
    ['<svg ', '<a "'],
    ['<svg "', ' '],
    ['<svg ', '""'],
    ['<svg expression', ' '],
    ['<!DOCTYPE svg', ' PUBLIC '],
    ['<svg><g/></svg>', '<!---->'],
  ])('%j and then many of %j', async (start, again) => {
    const bytes = Buffer.from(`${start}${again.repeat(200_000)}x`);
    await findUnsafeContent(bytes); // milliseconds; a backtracking pattern takes minutes or forever
    expect(parseImage(bytes)).toBeUndefined();
  });
});

describe('limits:', () => {
  it('an image with too many bytes is not parsed', async () => {
    expect(await faultOf(checkImage(Buffer.alloc(11), { maxBytes: 10 }))).toMatchObject({ fault: 'image_too_large' });
  });

  it('a drawing has a limit of its own', async () => {
    const bytes = svg('<g/>'.repeat(100));
    expect(await faultOf(checkImage(bytes, { ...all, maxSvgBytes: 400 }))).toMatchObject({
      fault: 'image_too_large',
    });
  });

  it.each<[Partial<ImageLimits>, string]>([
    [{ maxEdge: 39 }, 'image_too_large'],
    [{ maxPixels: 1199 }, 'image_too_large'],
    [{ minEdge: 31 }, 'image_too_small'],
  ])('%j', async (limits, fault) => {
    const bytes = await png();

    expect(await faultOf(checkImage(bytes, limits))).toMatchObject({ fault });
    expect(await checkImage(bytes, { maxEdge: 40, maxPixels: 1200, minEdge: 30 })).toMatchObject({ width: 40 });
  });

  it('frames count', async () => {
    expect(await faultOf(checkImage(await moving('gif', 4), { maxPixels: 16 * 16 * 3 }))).toMatchObject({
      fault: 'image_too_large',
      message: 'It is 16 × 16 pixels in 4 frames; the maximum is 768 pixels in all.',
    });
  });

  it('a small file that would be huge pixels is not unpacked', async () => {
    const bytes = await sharp({ create: { width: 12_000, height: 12_000, channels: 3, background: 'white' } })
      .png({ compressionLevel: 9 })
      .toBuffer();

    expect(bytes.length).toBeLessThan(1_000_000);
    expect(await faultOf(checkImage(bytes))).toMatchObject({ fault: 'image_too_large' });
  });

  it.each<[ImageFileFormat, Buffer]>([
    ['svg', svg('')],
    ['avif', Buffer.from('\0\0\0\x1cftypavif\0\0\0\0avifmif1', 'latin1')],
    ['heic', Buffer.from('\0\0\0\x18ftypmif1\0\0\0\0mif1heic', 'latin1')],
    ['bmp', Buffer.from('BM\x10\x10\0\0\0\0\0\0', 'latin1')],
    ['tiff', Buffer.from('II*\0\0\0\0\0', 'latin1')],
    ['ico', Buffer.from('\0\0\x01\0\x01\0', 'latin1')],
    ['jxl', Buffer.from('\xff\x0a\0\0', 'latin1')],
  ])('%s is named if it is not accepted', async (format, bytes) => {
    expect(await faultOf(checkImage(bytes))).toMatchObject({
      fault: 'unsupported_image_format',
      message: `It is ${format}; accepted are png, jpeg, webp, gif.`,
    });
  });

  it('images are decoded a few at a time', async () => {
    const bytes = await png();

    expect(await Promise.all(Array.from({ length: 20 }, () => checkImage(bytes)))).toHaveLength(20);
  });
});
