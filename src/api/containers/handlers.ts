import { isUtf8 } from 'node:buffer';
import { buffer } from 'node:stream/consumers';
import type { FastifyRequest } from 'fastify';
import { GatewayError } from '../../domain/errors.ts';
import { decodePath, writeContainerFileId } from '../../management/containers/container-file-id.ts';
import {
  type ContainerFileParts,
  type FoundContainerFile,
  getContainerFile,
  listContainerFiles,
  openContainerFile,
  promoteContainerFile,
} from '../../management/containers/container-files.ts';
import {
  type ContainerOwner,
  type ContainerPlace,
  placeContainer,
} from '../../management/containers/container-place.ts';
import { createBodyCheck, strictBody } from '../../management/check-body.ts';
import { detectMediaType, SAMPLE_BYTES } from '../../management/files/detect-media-type.ts';
import type { ByteRange } from '../../platform/objects/objects.ts';
import type { ListedContainerFile, SavedEntry } from '../../platform/storage/ports/containers.ts';
import { type AdmitRequest, countRequest } from '../count-request.ts';
import { writeContentHeaders } from '../files/content-headers.ts';
import { findFileShape } from '../files/file-shape.ts';
import { readQuery } from '../management/read-query.ts';
import { actorOf, type ManagementHandler, pathParam } from '../management/route.ts';
import { readByteRange } from './byte-range.ts';

type ContainerHandlerName =
  | 'listContainerFiles'
  | 'findContainerFile'
  | 'downloadContainerFile'
  | 'promoteContainerFile';

/** The files of containers. @see docs/reference/containers.md#routes */
export function createContainerHandlers(
  parts: ContainerFileParts & { owner: () => ContainerOwner; admit: AdmitRequest },
): Record<ContainerHandlerName, ManagementHandler> {
  const count =
    (handler: ManagementHandler): ManagementHandler =>
    (request, reply) =>
      countRequest(parts.admit, request, reply, () => handler(request, reply));
  const readPlace = (request: FastifyRequest): ContainerPlace =>
    placeContainer(request.caller!, pathParam(request, 'container_id'), parts.owner()); // the route needs a key
  const find = (request: FastifyRequest): Promise<FoundContainerFile> => {
    return getContainerFile(parts, readPlace(request), pathParam(request, 'file_id'));
  };

  return {
    listContainerFiles: count(async (request) => {
      const query = readQuery(request, (reader) => ({
        limit: reader.integer('limit', { min: 1, max: 1000, byDefault: 100 }),
        after: reader.text('after'),
      }));
      const place = readPlace(request);
      const { files, nextId } = await listContainerFiles(parts, place, query);
      const data = files.map((file) => writeContainerFile(place, file));
      return {
        object: 'list',
        data,
        first_id: data[0]?.id ?? null,
        last_id: nextId ?? data.at(-1)?.id ?? null,
        has_more: nextId !== null,
      };
    }),

    findContainerFile: count(async (request) => writeContainerFile(readPlace(request), (await find(request)).entry)),

    downloadContainerFile: count(async (request, reply) => {
      const containerId = pathParam(request, 'container_id');
      const found = await find(request);
      const { entry, mimeType } = await detectType(parts, containerId, found);
      const tag = `"${entry.version}"`;
      const condition = request.headers['if-range'];
      const wanted = condition === undefined || condition === tag ? request.headers.range : undefined;
      const range = readByteRange(wanted, entry.bytes);
      if (range === 'unsatisfiable') {
        reply.header('content-range', `bytes */${entry.bytes}`);
        throw new GatewayError(
          'range_not_satisfiable',
          `The file has ${entry.bytes} bytes; the range is after its end.`,
        );
      }
      const opened = await openContainerFile(parts, containerId, { ...found, entry }, range);
      if (opened.entry.version !== entry.version) {
        opened.content.destroy();
        throw new GatewayError('unavailable', 'The file was changed at the same time; try again.', {
          retryAfterSeconds: 1,
        });
      }
      const { start, end } = range ?? { start: 0, end: entry.bytes };
      writeContentHeaders(reply, mimeType, decodePath(entry.path), end - start);
      reply.headers({ etag: tag, 'accept-ranges': 'bytes' });
      if (range) reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${entry.bytes}`);
      return opened.content;
    }),

    promoteContainerFile: count(async (request) => {
      if (request.body !== undefined && request.body !== null) checkEmptyBody(request.body);
      const place = readPlace(request);
      const file = await promoteContainerFile(parts, actorOf(request), place, pathParam(request, 'file_id'));
      return findFileShape(request.headers).writeFile(file);
    }),
  };
}

/** The route has no fields, so a field in a body is a mistake. */
const checkEmptyBody = createBodyCheck(strictBody({}));

const writeContainerFile = ({ containerId }: ContainerPlace, { path, bytes, savedAtMs }: ListedContainerFile) => ({
  id: writeContainerFileId(path),
  object: 'container.file',
  container_id: containerId,
  path: decodePath(path),
  bytes,
  created_at: Math.floor(savedAtMs / 1000),
  source: 'assistant',
});

/** Detects the type of a file from both of its ends. Types that a browser runs, such as HTML, are text. */
async function detectType(
  parts: ContainerFileParts,
  containerId: string,
  found: FoundContainerFile,
): Promise<{ entry: SavedEntry; mimeType: string }> {
  const read = async (at: FoundContainerFile, range: ByteRange) => {
    const { entry, content } = await openContainerFile(parts, containerId, at, range);
    return { entry, bytes: await buffer(content) };
  };
  const { entry, bytes: head } = await read(found, { start: 0, end: SAMPLE_BYTES });
  const hasTail = entry.bytes > SAMPLE_BYTES;
  const tail = hasTail ? (await read({ ...found, entry }, { start: entry.bytes - SAMPLE_BYTES })).bytes : head;
  const isText = isTextSample(head, hasTail) && isTextSample(tail, hasTail);
  const sample = { filename: decodePath(entry.path), head, tail, bytes: entry.bytes, isText };
  return { entry, mimeType: detectMediaType(sample) ?? 'application/octet-stream' };
}

/** Whether bytes are UTF-8 without NUL. @param isCut whether a character can be cut at the ends */
function isTextSample(bytes: Buffer, isCut: boolean): boolean {
  if (bytes.includes(0)) return false;
  if (!isCut) return isUtf8(bytes);
  const isInner = (at: number): boolean => ((bytes[at] ?? 0) & 0xc0) === 0x80;
  let [start, end] = [0, bytes.length];
  while (start < 3 && isInner(start)) start++;
  // The last character may be cut: everything from its first byte on.
  for (let back = 1; back <= 4; back++) {
    if (isInner(bytes.length - back)) continue;
    end = bytes.length - back;
    break;
  }
  return isUtf8(bytes.subarray(start, end));
}
