import { Type } from 'typebox';
import { byteField, countField } from './fields.ts';
import { bucketPattern } from '../file-store.ts';

export const filesSection = Type.Object({
  url: Type.String({
    description:
      'Where the contents of files are: `file:` and a folder, relative to the working directory, or `s3://BUCKET/PREFIX` for a bucket of S3 or of a server with its API. `<data>` is the data folder. If several hosts share a PostgreSQL, name a bucket, or a folder that all of them share.',
    default: 'file:<data>/files',
    pattern: `^(file:.+|${bucketPattern})$`,
    says: 'must be `file:` and a path, or `s3://` and a bucket, with an optional prefix of letters, digits, `.`, `_`, `-` and `/`',
    restart: true,
  }),
  s3: Type.Object({
    endpoint: Type.Optional(
      Type.String({
        description:
          'URL of the S3 server. Absent: `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, else that of AWS for the region.',
        pattern: '^https?://[^/?#@\\s]+(/[^?#\\s]*)?$',
        says: 'must be an http or https URL without credentials, query and fragment',
        restart: true,
      }),
    ),
    region: Type.Optional(
      Type.String({
        description:
          'Region for signatures. Absent: `AWS_REGION`, `AWS_DEFAULT_REGION`, else `us-east-1` if there is an endpoint.',
        pattern: '^[A-Za-z0-9-]+$',
        says: 'must be the name of a region, such as `eu-central-1`',
        restart: true,
      }),
    ),
    access_key_id: Type.Optional(
      Type.String({ description: 'Key of the bucket. Absent: `AWS_ACCESS_KEY_ID`.', minLength: 1, restart: true }),
    ),
    secret_access_key: Type.Optional(
      Type.String({
        description: 'Its secret. Absent: `AWS_SECRET_ACCESS_KEY`.',
        minLength: 1,
        secret: true,
        restart: true,
      }),
    ),
    session_token: Type.Optional(
      Type.String({
        description: 'Token of temporary credentials. Absent: `AWS_SESSION_TOKEN`, if the key comes from there, too.',
        minLength: 1,
        secret: true,
        restart: true,
      }),
    ),
    path_style: Type.Optional(
      Type.Boolean({
        description:
          'Whether the bucket is in the path of URLs, not in the host name. Absent: true if there is an endpoint.',
        restart: true,
      }),
    ),
  }),
  max_bytes: byteField('Largest file, in bytes or as `100MiB`. A larger one is a 413.', 104_857_600),
  workspace_bytes: Type.Integer({
    description:
      'Maximum size of all files of a workspace together, in bytes or as `10GiB`. A file beyond it is a 403.',
    default: 10_737_418_240,
    minimum: 1024,
    unit: 'bytes',
  }),
  workspace_files: Type.Integer({
    description: 'Maximum number of files of a workspace. A file beyond it is a 403.',
    default: 10_000,
    minimum: 1,
    maximum: 1_000_000,
  }),
  request_bytes: byteField(
    'Maximum size of the stored files that a request names, together, in bytes or as `32MiB`. More is a 413.',
    33_554_432,
  ),
  search: Type.Object({
    file_characters: countField(
      'Maximum characters of one file that `file_search` finds. The rest is left out.',
      2_000_000,
      100_000_000,
    ),
    workspace_passages: countField(
      'Maximum passages (of about 1,200 characters) of all files of a workspace that `file_search` finds.',
      100_000,
      100_000_000,
    ),
  }),
  parallel_uploads: Type.Integer({
    description: 'Maximum uploads that a process receives at once. One more is a 429.',
    default: 16,
    minimum: 1,
    maximum: 1000,
  }),
});
