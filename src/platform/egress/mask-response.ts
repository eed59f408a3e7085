import type { IncomingMessage } from 'node:http';
import { Transform, type TransformCallback } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { EgressRefusal } from './egress-refusal.ts';
import { MaskScan, type EgressMask } from './egress-mask.ts';

const MAX_CODINGS = 2;
/** A body that grows more is made to occupy the gateway. Texts shrink to a twentieth. */
const MAX_GROWTH = 100;
const FREE_BYTES = 1_048_576;

/**
 * Returns the steps that mask the body of a response. They decompress it before, so the client must not see its
 * `content-encoding` and its length.
 *
 * @param mask the current one; it may change while the body is sent
 * @throws {EgressRefusal} if the body has a coding that cannot be read
 */
export function maskBody(incoming: IncomingMessage, host: string, mask: () => EgressMask): Transform[] {
  const { 'transfer-encoding': transfer = 'chunked' } = incoming.headers;
  const codings = listCodings(incoming);
  const decoders = codings.map(createDecoder);
  if (transfer.trim().toLowerCase() !== 'chunked' || decoders.includes(undefined) || decoders.length > MAX_CODINGS) {
    throw new EgressRefusal(502, `${host} compressed its response in a way that the proxy cannot read and check.`);
  }
  const known = decoders.filter((decoder) => decoder !== undefined);
  let received = 0;
  const count = new PieceTransform((piece) => {
    received += piece.length;
    return piece;
  });
  let grown = 0;
  const bound = new PieceTransform((piece) => {
    grown += piece.length;
    if (grown > MAX_GROWTH * received + FREE_BYTES) throw new Error('the body grows too much');
    return piece;
  });
  const scan = new MaskScan();
  const masking = new PieceTransform(
    (piece) => scan.write(mask(), piece),
    () => scan.end(mask()),
  );
  return known.length === 0 ? [masking] : [count, ...known, bound, masking];
}

/** Encodings in which texts do not have the bytes of the values. */
const unmaskable = /^(x-)?(cs)?(utf-?(16|32|7)|ucs|iso-10646|unicode|ebcdic|cp-?\d|ibm|scsu|bocu)/;
/** Code pages that are ASCII with more letters. */
const asciiPages = /^(cp|ibm)-?(125\d|437|65001|8[56]\d|9\d\d)$/;

/** @throws {EgressRefusal} if the response names an encoding in which values cannot be found */
export function checkCharset({ headersDistinct }: IncomingMessage, host: string): void {
  const types = headersDistinct['content-type'] ?? [];
  for (const [, charset = ''] of types.join().matchAll(/charset\*?\s*=\s*["']*([^\s"';,]+)/gi)) {
    const name = charset.toLowerCase().replaceAll('_', '-');
    if (!unmaskable.test(name) || asciiPages.test(name)) continue;
    const text = `${host} responded in the encoding ${name.slice(0, 40)}, in which secrets cannot be masked. Request UTF-8.`;
    throw new EgressRefusal(502, text);
  }
}

/** Lists the codings of a body, the last one first. Empty: it has none, or there is no body. */
export function listCodings({ headers }: IncomingMessage): string[] {
  const names = (headers['content-encoding'] ?? '').split(',').map((name) => name.trim().toLowerCase());
  return names.filter((name) => name !== '' && name !== 'identity').reverse();
}

function createDecoder(coding: string): Transform | undefined {
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    case 'zstd':
      return createZstdDecompress();
    default:
      return undefined;
  }
}

/** Changes each piece of a stream. */
class PieceTransform extends Transform {
  private readonly change: (piece: Buffer) => Buffer;
  private readonly finish: (() => Buffer) | undefined;

  constructor(change: (piece: Buffer) => Buffer, finish?: () => Buffer) {
    super();
    this.change = change;
    this.finish = finish;
  }

  override _transform(piece: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.pass(() => this.change(piece), done);
  }

  override _flush(done: TransformCallback): void {
    this.pass(() => this.finish?.() ?? Buffer.alloc(0), done);
  }

  private pass(create: () => Buffer, done: TransformCallback): void {
    try {
      const bytes = create();
      done(null, bytes.length === 0 ? undefined : bytes);
    } catch (error) {
      done(error instanceof Error ? error : new Error(String(error)));
    }
  }
}
