import { asGatewayError } from '../../domain/errors.ts';
import type { ErrorDialect } from '../../http/error-dialect.ts';
import { writeErrorEnvelope } from '../../http/error-envelope.ts';
import { writeOpenAIError } from '../openai-errors.ts';
import { asImageError } from '../../pipeline/images/as-image-error.ts';

/** Writes an error of `POST /images`: with the statuses of this path, and `param` also in the metadata. */
export const writeImageError: ErrorDialect = (thrown, routerMetadata) => {
  const error = asImageError(asGatewayError(thrown));
  const response = writeErrorEnvelope(error, routerMetadata);
  const { param, metadata } = response.body.error;
  if (param !== null) metadata['param'] = param;
  return response;
};

/** Writes an error of OpenAI's paths, with the statuses of `POST /images`. */
export const writeOpenAIImageError: ErrorDialect = (thrown, routerMetadata, request) =>
  writeOpenAIError(asImageError(asGatewayError(thrown)), routerMetadata, request);
