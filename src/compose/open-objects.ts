import { relative, resolve } from 'node:path';
import type { Config } from '../config/schema.ts';
import { openDiskObjects } from '../platform/objects/disk/disk-objects.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { S3Place } from '../platform/objects/s3/s3-client.ts';
import { openS3Objects } from '../platform/objects/s3/s3-objects.ts';

type FileSettings = Pick<Config, 'files'>;

/** Opens the contents of files, and of other large values. Connects to nothing yet. */
export function openObjects(config: FileSettings): Objects {
  const folder = findObjectFolder(config);
  return folder === undefined ? openS3Objects(readS3Place(config)) : openDiskObjects(folder);
}

/** @returns an absolute path; undefined for a bucket */
export const findObjectFolder = ({ files: { url } }: FileSettings): string | undefined =>
  url.startsWith('file:') ? url.slice('file:'.length) : undefined;

/** Whether no other host can have them: they are in the data folder, which one host has locked. */
export function areOwnObjects(config: FileSettings, dataDir: string): boolean {
  const folder = findObjectFolder(config);
  return folder !== undefined && !/^(\.\.|[/\\]|[A-Za-z]:)/.test(relative(resolve(dataDir), folder));
}

function readS3Place({ files: { url, s3 } }: FileSettings): S3Place {
  const [bucket = '', ...segments] = url.slice('s3://'.length).replace(/\/$/, '').split('/');
  const { region = 'us-east-1', endpoint = `https://s3.${region}.amazonaws.com` } = s3;
  return {
    endpoint,
    region,
    bucket,
    prefix: segments.map((segment) => `${segment}/`).join(''),
    accessKeyId: s3.access_key_id ?? '', // the configuration is not complete without them
    secretAccessKey: s3.secret_access_key ?? '',
    sessionToken: s3.session_token,
    // The certificate of a server fits no bucket with a dot.
    pathStyle: s3.path_style ?? (s3.endpoint !== undefined || bucket.includes('.')),
  };
}
