import { GatewayError } from '../../domain/errors.ts';
import { type ByteRange, ObjectKeyError, type ReadableObject } from '../../platform/objects/objects.ts';
import type { FileRecord } from '../../platform/storage/ports/files.ts';
import type { FileParts } from './parts.ts';

/** Keys of the contents of files begin with it. */
export const FILE_OBJECTS = 'files/';

/** Returns the key of the content of a file. A folder per workspace keeps folders of a disk small. */
export const nameFileObject = ({ workspaceId, id }: Pick<FileRecord, 'workspaceId' | 'id'>): string =>
  `${FILE_OBJECTS}${workspaceId}/${id}`;

/**
 * Calls the store of objects. Does not change a GatewayError, and no fault of the gateway: it becomes `internal`.
 *
 * @throws {GatewayError} `unavailable` if the store fails
 */
export async function callObjects<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (cause) {
    const isOurs = cause instanceof ObjectKeyError || cause instanceof RangeError; // `fetch` throws a TypeError without a network
    if (cause instanceof GatewayError || isOurs) throw cause;
    const isFull = ['ENOSPC', 'EDQUOT'].includes((cause as NodeJS.ErrnoException).code ?? '');
    const reason = isFull ? 'The disk of the files is full' : 'The contents of files (files.url) are not available';
    throw new GatewayError('unavailable', `${reason}; try again later.`, { cause, retryAfterSeconds: 30 });
  }
}

/**
 * Opens the content of a file.
 *
 * @throws {GatewayError} `unavailable` if this host does not have it
 */
export async function openFileContent(
  { objects }: Pick<FileParts, 'objects'>,
  file: Pick<FileRecord, 'workspaceId' | 'id'>,
  range?: ByteRange,
): Promise<ReadableObject> {
  const found = await callObjects(() => objects.open(nameFileObject(file), range));
  if (found) return found;
  throw new GatewayError(
    'unavailable',
    `The content of ${file.id} is not in the storage of this host. If several hosts serve, set files.url to an S3 bucket, or to a folder that all of them share.`,
  );
}
