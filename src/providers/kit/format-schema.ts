import type { TextSetting } from '../../domain/request.ts';
import type { Draft } from './draft.ts';

type SchemaFormat = Extract<NonNullable<TextSetting['format']>, { type: 'json_schema' }>;

/**
 * Returns the schema of a format for a protocol that has only the schema, and always enforces it. The schema gets the
 * description of the format, unless it has its own.
 */
export function writeFormatSchema(
  { dropped }: Draft,
  { schema, description, strict }: SchemaFormat,
): Record<string, unknown> {
  if (strict === false) dropped.push('text.format.strict (false)');
  if (!description) return schema;
  if (schema['description'] === undefined) return { description, ...schema };
  dropped.push('text.format.description');
  return schema;
}
