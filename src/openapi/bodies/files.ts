import { Type } from 'typebox';
import { named } from '../schema-writer.ts';
import { count, flag, seconds, text, textOrNull, time } from './shapes.ts';

/** @see docs/reference/files.md#shapes */
export const file = named(
  'File',
  Type.Object({
    id: text,
    type: Type.Literal('file'),
    filename: text,
    mime_type: text,
    size_bytes: count,
    created_at: time,
    downloadable: flag,
  }),
);

const ends = { first_id: textOrNull, last_id: textOrNull, has_more: flag };

export const fileList = Type.Object({ data: Type.Array(file), ...ends, cursor: textOrNull });
export const fileDeletion = Type.Object({ id: text, type: Type.Literal('file_deleted') });

/** The fields of an upload. */
export const upload = Type.Object({
  file: Type.String({ format: 'binary' }),
  purpose: Type.Optional(Type.String({ pattern: '^[a-z0-9_-]{1,64}$' })),
});

/** @see docs/reference/containers.md#routes */
export const containerFile = named(
  'ContainerFile',
  Type.Object({
    id: text,
    object: Type.Literal('container.file'),
    container_id: text,
    path: text,
    bytes: count,
    created_at: seconds,
    source: text,
  }),
);

export const containerFileList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(containerFile),
  ...ends,
});

export const health = Type.Object({ status: Type.Literal('ok'), name: text, version: text });
export const readiness = Type.Object({
  status: Type.Literal('ready'),
  workers: Type.Optional(text),
  store: Type.Optional(text),
  access: Type.Optional(text),
  ledger: Type.Optional(text),
  counters: Type.Optional(text),
  clock: Type.Optional(text),
});
