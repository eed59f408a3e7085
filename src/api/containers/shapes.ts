import { Type } from 'typebox';
import { named } from '../../openapi/schema-writer.ts';
import { count, seconds, text } from '../../openapi/shapes.ts';
import { ends } from '../files/shapes.ts';

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
