import { GatewayError } from '../../domain/errors.ts';
import { OutboundError } from './outbound-error.ts';
import { ImageError } from './check-image.ts';

/**
 * Converts a failed fetch or check to an error for the caller of the gateway.
 *
 * @param path of the field with the URL: `input[0].content[1].image_url`
 * @param kind the interface has more `error_type`s for an image than for a file
 * @returns any other error (a cancellation, an internal error) unchanged
 * @see docs/reference/images.md#errors
 */
export function explainFetchFailure(error: unknown, path: string, kind: 'image' | 'file'): unknown {
  if (!(error instanceof OutboundError) && !(error instanceof ImageError)) return error;
  const errorType = kind === 'image' ? typeOf(error) : 'invalid_request';
  const { message } = error;
  return new GatewayError(errorType === 'image_not_found' ? 'not_found' : 'invalid_request', `${path}: ${message}`, {
    errorType,
    metadata: { param: path, issues: [{ path, message }] },
    cause: error,
  });
}

function typeOf(error: OutboundError | ImageError): string {
  if (error instanceof ImageError) return error.fault;
  switch (error.reason) {
    case 'invalid_url':
    case 'unsupported_scheme':
    case 'has_credentials':
      return 'invalid_request';
    case 'unresolvable':
    case 'not_found':
      return 'image_not_found';
    case 'too_large':
      return 'image_too_large';
    default:
      return 'image_download_failed';
  }
}
