import { Type } from 'typebox';
import { named } from '../../openapi/schema-writer.ts';
import { count, flag, text, textOrNull, time } from '../../openapi/shapes.ts';

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

export const ends = { first_id: textOrNull, last_id: textOrNull, has_more: flag };

export const fileList = Type.Object({ data: Type.Array(file), ...ends, cursor: textOrNull });
export const fileDeletion = Type.Object({ id: text, type: Type.Literal('file_deleted') });

/** The fields of an upload. */
export const upload = Type.Object({
  file: Type.String({ format: 'binary' }),
  purpose: Type.Optional(Type.String({ pattern: '^[a-z0-9_-]{1,64}$' })),
});
