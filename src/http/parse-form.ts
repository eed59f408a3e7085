import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { GatewayError, invalidRequest } from '../domain/errors.ts';
import type { FormPart } from '../domain/form-part.ts';

const MAX_FILES = 17;
const MAX_FIELDS = 64;
/** Bytes of a text, such as a prompt. */
const MAX_FIELD_BYTES = 1024 * 1024;

/** Whether a body is a form. */
export const isForm = (contentType: string | undefined): boolean =>
  /^multipart\/form-data\s*(;|$)/i.test(contentType ?? '');

/**
 * Parses a form that is in memory.
 *
 * @throws {GatewayError} `invalid_request`
 */
export async function parseForm(body: Buffer, contentType: string): Promise<FormPart[]> {
  const { promise, resolve, reject } = Promise.withResolvers<FormPart[]>();
  const parser = createParser(contentType);
  const parts: FormPart[] = [];
  const refuse = (reason: string): void => reject(refuseForm(reason));
  parser.on('file', (name, stream, _filename, _encoding, mediaType) => {
    const pieces: Buffer[] = [];
    stream.on('data', (piece: Buffer) => void pieces.push(piece));
    stream.on('error', () => refuse('it ends in the middle of a file'));
    stream.on('end', () => parts.push({ name: name ?? '', value: Buffer.concat(pieces), mediaType }));
  });
  parser.on('field', (name, value, isNameCut, isValueCut, _encoding, mediaType) => {
    if (isNameCut || isValueCut) refuse(`a field has more than ${MAX_FIELD_BYTES} bytes`);
    else parts.push({ name, value, mediaType });
  });
  for (const event of ['partsLimit', 'fieldsLimit', 'filesLimit'] as const) {
    parser.on(event, () => refuse(`it has more than ${MAX_FILES} files or ${MAX_FIELDS} fields`));
  }
  parser.on('error', (error) => refuse(error instanceof Error ? error.message.slice(0, 200) : 'it is malformed'));
  parser.on('finish', () => resolve(parts));
  parser.end(body);
  return promise;
}

function createParser(contentType: string): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: {
        files: MAX_FILES,
        fields: MAX_FIELDS,
        parts: MAX_FILES + MAX_FIELDS,
        fieldNameSize: 100,
        fieldSize: MAX_FIELD_BYTES,
        headerPairs: 20,
        headerSize: 16 * 1024,
      },
    });
  } catch (error) {
    throw new GatewayError('invalid_request', 'Content-Type is not valid: it has no boundary.', { cause: error });
  }
}

const refuseForm = (reason: string): GatewayError =>
  invalidRequest([{ path: '', message: `The body is not a valid multipart form: ${reason}.` }]);
