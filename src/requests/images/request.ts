import { invalidRequest } from '../../domain/errors.ts';
import { type ImageRequest, type Resolution, readPixelSize, resolutions } from '../../domain/images.ts';
import { isObject } from '../../schema/by-kind.ts';
import { IgnoredFields } from '../ignored-fields.ts';
import type { RequestHints } from '../request-hints.ts';
import { checkSessionId } from '../session-header.ts';
import { checkImageBody } from './check.ts';
import { type ImageBody, knownImageFields } from './schema.ts';

/** A request in the shape that every stage after the edge reads. */
export interface ParsedImageRequest {
  request: ImageRequest;
  /** Unknown fields of the body, for `params.ignored_fields`. */
  ignoredFields: string[];
  /** Whether the model is `defaultModel` of the hints. */
  hasDefaultModel: boolean;
}

/**
 * Checks a `POST /images` body and normalizes fields that have several forms: header or field, tier as `size` or
 * `resolution`.
 *
 * @throws {GatewayError} `invalid_request`, with every problem in `metadata.issues`
 * @see docs/reference/images.md#request-body
 */
export function readImageRequest(body: unknown, { sessionId, defaultModel }: RequestHints): ParsedImageRequest {
  const hasDefaultModel =
    defaultModel !== undefined && isObject(body) && (body.model === undefined || body.model === null);
  if (hasDefaultModel) body.model = defaultModel;
  const { issues } = checkImageBody(body);
  const all = [...issues, ...checkSessionId(sessionId)];
  if (all.length > 0) throw invalidRequest(all);
  const checked = body as ImageBody; // no issue was found
  const { size, input_references: references } = checked;
  const isTier = size !== undefined && (resolutions as readonly string[]).includes(size);
  const pixels = size === undefined || isTier ? undefined : readPixelSize(size);
  const ignored = new IgnoredFields();
  for (const name of Object.keys(checked)) if (!knownImageFields.has(name)) ignored.add('', name);
  const session = checked.session_id ?? (sessionId || undefined);
  return {
    request: {
      ...pickPlainFields(checked),
      ...(isTier && { resolution: size as Resolution }),
      ...(pixels && { size: pixels }),
      ...(references && { input_references: references.map(({ image_url: { url } }) => url) }),
      ...(session !== undefined && { session_id: session }),
    },
    ignoredFields: ignored.list(),
    hasDefaultModel,
  };
}

/** The known fields that mean the same in the body and in the request. */
function pickPlainFields(body: ImageBody): Omit<ImageRequest, 'size' | 'input_references'> {
  const plain: Record<string, unknown> = {};
  for (const name of knownImageFields) {
    const value = (body as Record<string, unknown>)[name];
    if (value !== undefined && name !== 'size' && name !== 'input_references') plain[name] = value;
  }
  return plain as ReturnType<typeof pickPlainFields>; // as checked
}
