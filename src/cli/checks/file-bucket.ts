import { randomUUID } from 'node:crypto';
import { findObjectFolder, openObjects } from '../../compose/open-objects.ts';
import type { Config } from '../../config/schema.ts';
import type { Objects } from '../../platform/objects/objects.ts';
import { S3Error } from '../../platform/objects/s3/s3-error.ts';
import type { Finding } from './finding.ts';

/**
 * Checks whether the bucket of `files.url` can be listed. With `probe`, also writes, reads and removes an object.
 *
 * @returns an empty list if the contents of files are in a folder
 */
export async function checkFileBucket(
  config: Pick<Config, 'files'>,
  { probe }: { probe: boolean },
): Promise<Finding[]> {
  if (findObjectFolder(config) !== undefined) return [];
  const { url, s3 } = config.files;
  const subject = 'files';
  const says = `${url}${s3.endpoint === undefined ? '' : ` at ${s3.endpoint}`}`;
  try {
    const objects = openObjects(config);
    await objects.list({ prefix: '', limit: 1 });
    if (probe) await writeProbe(objects);
    return [{ status: 'ok', subject, says: `${says} ${probe ? 'stores and returns objects' : 'can be listed'}` }];
  } catch (error) {
    if (!(error instanceof S3Error)) throw error;
    return [{ status: 'fail', subject, says: `${says}: ${error.message}`, fix: adviseOn(error) }];
  }
}

async function writeProbe(objects: Objects): Promise<void> {
  const key = `doctor/${randomUUID()}`;
  await objects.put(key, oneByte());
  try {
    const found = await objects.open(key);
    found?.content.destroy();
    if (found?.bytes !== 1) throw new S3Error('An object that was just stored does not exist.');
  } finally {
    await objects.remove(key);
  }
}

async function* oneByte(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(1);
}

function adviseOn({ code, status }: S3Error): string {
  if (code === 'NoSuchBucket') return 'Create the bucket, or name another one in files.url.';
  if (code === 'RequestTimeTooSkewed') return 'Set the clock of this machine.';
  if (code === 'AuthorizationHeaderMalformed' || status === 301) return 'Check files.s3.region and files.s3.endpoint.';
  if (status === 401 || status === 403) {
    return 'Check files.s3.access_key_id and secret_access_key. The key must list, read, write and delete in the bucket, and list and abort multipart uploads.';
  }
  if (status !== undefined && (status === 429 || status >= 500)) return 'Try again later.';
  return 'Check files.s3.endpoint, files.s3.path_style and the network.';
}
