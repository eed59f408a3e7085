import type { ImageUpstreamRequest } from '../../providers/image-wire.ts';
import { writeForm } from '../../providers/write-form.ts';
import { writeJson } from '../../domain/write-json.ts';

/** The body of an image request as bytes: a form or JSON. */
export function serializeImageBody(body: ImageUpstreamRequest['body']): { body: Buffer; contentType: string } {
  if (Array.isArray(body)) return writeForm(body);
  return { body: Buffer.from(writeJson(body)), contentType: 'application/json' };
}
