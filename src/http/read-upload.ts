import type { IncomingMessage } from 'node:http';
import { Busboy, type BusboyFileStream, type BusboyInstance } from '@fastify/busboy';
import { GatewayError, invalidRequest } from '../domain/errors.ts';
import { sendContinue } from './expect.ts';

/** The file of a form, while it arrives. */
export interface UploadedFile {
  filename: string;
  /** Ends when the whole form has arrived and is valid. */
  content: AsyncIterable<Buffer>;
  /** The other fields of the form. Complete when the content has ended. */
  fields: ReadonlyMap<string, string>;
}

export interface UploadOptions<Result> {
  /** Maximum bytes of the whole body. */
  maxBytes: number;
  /** The setting that the limit follows from, for the message. */
  source: string;
  /** Called once, while the file arrives. */
  take: (file: UploadedFile) => Promise<Result>;
}

/** Fields of a form besides the file. */
const MAX_FIELDS = 16;
const MAX_FIELD_BYTES = 4096;

/**
 * Reads a form with one file, in the part `file`, without keeping the file in memory: a slow `take` slows the client
 * down.
 *
 * @throws {GatewayError} for an invalid form, a body that is too large and a client that disconnects; what `take` throws
 */
export async function readUpload<Result>(raw: IncomingMessage, options: UploadOptions<Result>): Promise<Result> {
  const { maxBytes, source, take } = options;
  const declared = raw.headers['content-length'];
  const tooLarge = (): GatewayError =>
    new GatewayError('payload_too_large', `The body is larger than ${maxBytes} bytes (${source}).`);
  if (declared !== undefined && Number(declared) > maxBytes) throw tooLarge();
  const parser = createParser(raw);
  const fields = new Map<string, string>();
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const complete = Promise.withResolvers<void>();
  complete.promise.catch(() => {}); // it may fail before `take` waits for it
  let received = 0;
  let current: BusboyFileStream | undefined;
  let taken: Promise<Result> | undefined;

  function stop(error: unknown): void {
    raw.unpipe(parser);
    raw.off('data', count);
    current?.destroy(error instanceof Error ? error : undefined);
    complete.reject(error);
    const give = (): void => reject(error);
    if (taken)
      taken.then(give, give); // when it has cleaned up
    else give();
  }
  function count(piece: Buffer): void {
    received += piece.length;
    if (received > maxBytes) stop(tooLarge());
  }
  const refuse = (message: string): void => stop(invalidRequest([{ path: '', message }]));
  const disconnect = (): void => {
    if (!raw.complete) stop(new GatewayError('client_closed', 'The client disconnected while it sent its body.'));
  };

  parser.on('file', (name, stream, filename) => {
    stream.on('error', () => {}); // `take` gets it
    if (name !== 'file' || taken) {
      stream.resume();
      return refuse(
        taken
          ? 'The form has several files; send one.'
          : `The form has a file in the part ${quote(name)}; name it file.`,
      );
    }
    current = stream;
    async function* read(): AsyncGenerator<Buffer> {
      try {
        yield* stream as AsyncIterable<Buffer>;
      } catch (error) {
        throw error instanceof GatewayError ? error : refuseForm('it ends in the middle of the file');
      }
      await complete.promise;
    }
    taken = take({ filename: filename ?? '', content: read(), fields });
    taken.then(resolve, stop);
  });
  parser.on('field', (name, value, isNameCut, isValueCut) => {
    if (name === 'file') return refuse('The part file has no filename; send the file with one.');
    if (isNameCut || isValueCut) return refuse(`The field ${quote(name)} has more than ${MAX_FIELD_BYTES} bytes.`);
    if (fields.has(name)) return refuse(`The field ${quote(name)} is repeated.`);
    fields.set(name, value);
  });
  for (const event of ['partsLimit', 'fieldsLimit', 'filesLimit'] as const) {
    parser.on(event, () => refuse(`The form has too many parts; send one file and at most ${MAX_FIELDS} fields.`));
  }
  parser.on('error', (error) => stop(refuseForm(readReason(error))));
  parser.on('finish', () => {
    if (!taken) return refuse('The form has no part named file; send the file in it.');
    complete.resolve();
  });
  raw.on('close', disconnect);
  raw.on('error', disconnect);
  const cleanUp = (): void => {
    raw.off('close', disconnect);
    raw.off('data', count);
  };
  promise.then(cleanUp, cleanUp);
  sendContinue(raw);
  raw.on('data', count);
  raw.pipe(parser);
  return promise;
}

function createParser(raw: IncomingMessage): BusboyInstance {
  const { 'content-type': type = '' } = raw.headers;
  if (!/^multipart\/form-data\s*(;|$)/i.test(type)) {
    throw new GatewayError(
      'invalid_request',
      `Content-Type is ${type === '' ? 'missing' : type.slice(0, 100)}; send multipart/form-data with the file in the part named file.`,
    );
  }
  try {
    return new Busboy({
      headers: { ...raw.headers, 'content-type': type },
      preservePath: true,
      limits: {
        files: 2, // so that the second is noticed
        fields: MAX_FIELDS,
        parts: MAX_FIELDS + 2,
        fieldNameSize: 100,
        fieldSize: MAX_FIELD_BYTES,
        headerPairs: 20,
        headerSize: 16 * 1024,
      },
    });
  } catch (error) {
    throw new GatewayError('invalid_request', `Content-Type is not valid: ${readReason(error)}.`);
  }
}

const refuseForm = (reason: string): GatewayError =>
  invalidRequest([{ path: '', message: `The body is not a valid multipart form: ${reason}.` }]);
const quote = (name: string | undefined): string => JSON.stringify((name ?? '').slice(0, 100));
const readReason = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).slice(0, 200).replace(/\.$/, '');
