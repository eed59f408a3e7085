import { randomUUID } from 'node:crypto';
import type { S3Call, S3Client } from './s3-client.ts';
import { S3Error } from './s3-error.ts';
import { createNameReader } from './s3-name-reader.ts';
import { escapeXml, findXmlText, getXmlText, type XmlElement } from './s3-xml.ts';

/** Bytes of all parts but the last. S3 allows no smaller ones. */
export const PART_BYTES = 5 * 1024 * 1024;
/** Number of parts that S3 allows. */
const MAX_PARTS = 10_000;
/** Metadata that identifies the upload that made an object: choice 541. */
const MARK = 'x-amz-meta-headgate-upload';

/**
 * Uploads a stream, in parts if it is longer than one. The object has its new content when all of it is stored.
 *
 * @returns the number of bytes
 * @throws {S3Error} or what `content` throws
 */
export async function putParts(client: S3Client, name: string, content: AsyncIterable<Uint8Array>): Promise<number> {
  let upload: PartUpload | undefined;
  let bytes = 0;
  try {
    for await (const { part, isLast } of cutParts(content)) {
      bytes += part.length;
      if (isLast && !upload) await client.send({ method: 'PUT', name, body: part }, ({ body }) => body.dump());
      else {
        upload ??= await startUpload(client, name);
        if (part.length > 0) await upload.add(part);
      }
    }
    await upload?.complete();
    return bytes;
  } catch (error) {
    await upload?.abort().catch(() => {}); // `removeLeftovers` repeats it
    throw error;
  }
}

/** Yields parts of the same length, and a last one, which can be shorter or empty. */
async function* cutParts(content: AsyncIterable<Uint8Array>): AsyncGenerator<{ part: Buffer; isLast: boolean }> {
  let pieces: Uint8Array[] = [];
  let length = 0;
  const take = (): Buffer => {
    const part = Buffer.concat(pieces, length);
    pieces = [];
    length = 0;
    return part;
  };
  for await (const piece of content) {
    for (let at = 0; at < piece.length; ) {
      if (length === PART_BYTES) yield { part: take(), isLast: false };
      const some = piece.subarray(at, at + PART_BYTES - length);
      pieces.push(some);
      length += some.length;
      at += some.length;
    }
  }
  yield { part: take(), isLast: true };
}

interface PartUpload {
  add(part: Buffer): Promise<void>;
  complete(): Promise<void>;
  abort(): Promise<void>;
}

async function startUpload(client: S3Client, name: string): Promise<PartUpload> {
  const mark = randomUUID();
  const started = await client.sendForXml({ method: 'POST', name, query: { uploads: '' }, headers: { [MARK]: mark } });
  const uploadId = getXmlText(started, 'UploadId');
  const tags: string[] = [];
  return {
    async add(body) {
      if (tags.length === MAX_PARTS) throw new S3Error(`The content has more than ${MAX_PARTS} parts.`);
      const partNumber = String(tags.length + 1);
      const tag = await client.send(
        { method: 'PUT', name, query: { partNumber, uploadId }, body },
        async (response) => {
          await response.body.dump();
          return response.headers.etag;
        },
      );
      if (tag === undefined) throw new S3Error('The S3 server sent no ETag of a part.');
      tags.push(tag);
    },
    async complete() {
      const parts = tags.map(
        (tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escapeXml(tag)}</ETag></Part>`,
      );
      const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`);
      const call: S3Call = { method: 'POST', name, query: { uploadId }, body, headers: { 'content-type': 'text/xml' } };
      try {
        await client.sendForXml(call);
      } catch (error) {
        // An earlier try may have completed the upload without a response.
        if (!(error instanceof S3Error) || error.code !== 'NoSuchUpload') throw error;
        const head = await client.send({ method: 'HEAD', name, expects: [404] }, ({ headers }) => headers);
        if (head[MARK] !== mark) throw error;
      }
    },
    abort: async () => await abortUpload(client, name, uploadId),
  };
}

async function abortUpload(client: S3Client, name: string, uploadId: string): Promise<void> {
  const call: S3Call = { method: 'DELETE', name, query: { uploadId }, expects: ['NoSuchUpload', 404] };
  await client.send(call, ({ body }) => body.dump());
}

/** An upload that is neither complete nor aborted. */
export interface PendingUpload {
  /** @returns the time of its last part, in Unix milliseconds */
  findLastChange(): Promise<number>;
  abort(): Promise<void>;
}

export async function* listUploads(client: S3Client, prefix: string): AsyncGenerator<PendingUpload> {
  const query = { uploads: '', 'encoding-type': 'url', ...(prefix !== '' && { prefix }) };
  for (let markers = {}; ; ) {
    const xml = await client.sendForXml({ method: 'GET', query: { ...query, ...markers } });
    const decode = createNameReader(xml);
    for (const entry of listChildren(xml, 'Upload')) {
      const name = decode(getXmlText(entry, 'Key'));
      const uploadId = getXmlText(entry, 'UploadId');
      const startedAtMs = Date.parse(getXmlText(entry, 'Initiated'));
      yield {
        findLastChange: async () => Math.max(startedAtMs, await findLastPart(client, name, uploadId)),
        abort: async () => await abortUpload(client, name, uploadId),
      };
    }
    if (findXmlText(xml, 'IsTruncated') !== 'true') return;
    markers = {
      'key-marker': decode(getXmlText(xml, 'NextKeyMarker')),
      'upload-id-marker': getXmlText(xml, 'NextUploadIdMarker'),
    };
  }
}

/** @returns the time of the last part in Unix milliseconds; 0: it has none, or the upload has ended */
async function findLastPart(client: S3Client, name: string, uploadId: string): Promise<number> {
  let newest = 0;
  for (let marker = '0'; ; ) {
    const call: S3Call = { method: 'GET', name, query: { uploadId, 'part-number-marker': marker } };
    const xml = await client.sendForXml(call).catch((error: unknown) => {
      if (error instanceof S3Error && error.code === 'NoSuchUpload') return undefined;
      throw error;
    });
    if (!xml) return newest;
    newest = Math.max(newest, ...listChildren(xml, 'Part').map((part) => Date.parse(getXmlText(part, 'LastModified'))));
    if (findXmlText(xml, 'IsTruncated') !== 'true') return newest;
    marker = getXmlText(xml, 'NextPartNumberMarker');
  }
}

const listChildren = ({ children }: XmlElement, name: string): XmlElement[] =>
  children.filter((child) => child.name === name);
