import { Readable } from 'node:stream';
import { checkObjectKey, ObjectKeyError, type ObjectQuery, type Objects, type StoredObject } from '../objects.ts';
import { S3Client, type S3Place, type S3Response, type S3Times, s3Times } from './s3-client.ts';
import { S3Error } from './s3-error.ts';
import { readS3Key, writeS3Key } from './s3-key.ts';
import { createNameReader } from './s3-name-reader.ts';
import { listUploads, putParts } from './s3-uploads.ts';
import { findXmlText, getXmlText } from './s3-xml.ts';

/** Maximum bytes of the name of an object. */
const MAX_NAME_BYTES = 1024;
/** Maximum keys of a listing. */
const PAGE = 1000;

/**
 * Stores objects in a bucket of S3, or of a server with its API. Content of more than a part is uploaded in parts, so a
 * call of `put` needs memory for two parts. A process that is killed leaves at most an upload that is not complete.
 *
 * The server must sort names by their bytes and replace an object as a whole.
 */
export function openS3Objects(place: S3Place, times: S3Times = s3Times): Objects {
  const client = new S3Client(place, times);
  const locate = (key: string): string => {
    checkObjectKey(key);
    const name = place.prefix + writeS3Key(key);
    const bytes = Buffer.byteLength(name);
    if (bytes <= MAX_NAME_BYTES) return name;
    throw new ObjectKeyError(`The key has ${bytes} bytes in the bucket; 1 to ${MAX_NAME_BYTES} are allowed.`);
  };
  const get = async (name: string, range?: string): Promise<S3Response> =>
    await client.send(
      { method: 'GET', name, ...(range && { headers: { range } }), expects: ['NoSuchKey', 'InvalidRange', 404, 416] },
      (response) => response,
    );

  return {
    async put(key, content) {
      return await putParts(client, locate(key), content);
    },

    async open(key, { start = 0, end = Number.POSITIVE_INFINITY } = { start: 0 }) {
      const name = locate(key);
      const isEmpty = end <= start;
      const isWhole = start === 0 && end === Number.POSITIVE_INFINITY;
      const last = end === Number.POSITIVE_INFINITY ? '' : end - 1;
      const response = await get(name, isEmpty || isWhole ? undefined : `bytes=${start}-${last}`);
      if (response.status === 404) return undefined;
      if (response.status !== 416) {
        const found = describeObject(key, response);
        if (!isEmpty) return { ...found, content: checkRange(response, found.bytes, start, end) };
        response.body.destroy();
        return { ...found, content: Readable.from([]) };
      }
      // The range begins at the end of the object or after it.
      const whole = await get(name);
      if (whole.status === 404) return undefined;
      whole.body.destroy();
      return { ...describeObject(key, whole), content: Readable.from([]) };
    },

    async remove(key) {
      const call = { method: 'DELETE', name: locate(key), expects: ['NoSuchKey', 404] } as const;
      await client.send(call, ({ body }) => body.dump());
    },

    async list({ prefix, after, limit }) {
      const found: StoredObject[] = [];
      let from = after === undefined ? undefined : place.prefix + writeS3Key(after);
      while (found.length < limit) {
        const page = await listPage(
          client,
          place.prefix + writeS3Key(prefix),
          from,
          Math.min(limit - found.length, PAGE),
        );
        for (const { name, ...object } of page.objects) {
          const key = readS3Key(name.slice(place.prefix.length));
          if (key !== undefined) found.push({ ...object, key });
        }
        if (!page.isTruncated) break;
        from = page.objects.at(-1)?.name;
        if (from === undefined) throw new S3Error('The S3 server sent an empty page of a listing that continues.');
      }
      return found;
    },

    async removeLeftovers(idleMs) {
      for await (const upload of listUploads(client, place.prefix)) {
        // The clock of the server may be ahead, and it may round up.
        if (idleMs === 0 || Date.now() - (await upload.findLastChange()) >= idleMs) await upload.abort();
      }
    },
  };
}

function describeObject(key: string, { status, headers }: S3Response): StoredObject {
  const bytes = status === 206 ? /\/(\d+)$/.exec(headers['content-range'] ?? '')?.[1] : headers['content-length'];
  const modifiedAtMs = Date.parse(headers['last-modified'] ?? '');
  if (bytes === undefined || Number.isNaN(modifiedAtMs)) {
    throw new S3Error('The S3 server sent an object without its length or its time.');
  }
  return { key, bytes: Number(bytes), modifiedAtMs };
}

/** Returns the content. A server may send the whole object if the range includes all of it. */
function checkRange({ status, body }: S3Response, bytes: number, start: number, end: number): Readable {
  if (status === 206 || bytes === 0 || (start === 0 && end >= bytes)) return body;
  body.destroy();
  throw new S3Error('The S3 server sent the whole object for a range.');
}

interface ListedPage {
  objects: { name: string; bytes: number; modifiedAtMs: number }[];
  isTruncated: boolean;
}

async function listPage(
  client: S3Client,
  prefix: string,
  after: string | undefined,
  limit: ObjectQuery['limit'],
): Promise<ListedPage> {
  const query = {
    'list-type': '2',
    'encoding-type': 'url', // XML cannot have all characters
    'max-keys': String(limit),
    ...(prefix !== '' && { prefix }),
    ...(after !== undefined && { 'start-after': after }),
  };
  const xml = await client.sendForXml({ method: 'GET', query });
  const decode = createNameReader(xml);
  const objects = xml.children
    .filter(({ name }) => name === 'Contents')
    .map((entry) => ({
      name: decode(getXmlText(entry, 'Key')),
      bytes: Number(getXmlText(entry, 'Size')),
      modifiedAtMs: Date.parse(getXmlText(entry, 'LastModified')),
    }));
  return { objects, isTruncated: findXmlText(xml, 'IsTruncated') === 'true' };
}
