import { asGatewayError, type Issue } from '../../domain/errors.ts';
import type { ErrorDialect } from '../../http/error-dialect.ts';
import { writeErrorEnvelope } from '../../http/error-envelope.ts';
import { asImageError } from '../../pipeline/images/as-image-error.ts';

/**
 * Writes an error of `POST /images`: with the statuses of this path, and the first invalid field as `metadata.param`.
 */
export const writeImageError: ErrorDialect = (thrown, routerMetadata) => {
  const error = asImageError(asGatewayError(thrown));
  const response = writeErrorEnvelope(error, routerMetadata);
  const [first] = (error.metadata['issues'] as Issue[] | undefined) ?? [];
  if (first !== undefined && first.path !== '') response.body.error.metadata['param'] = first.path;
  return response;
};
