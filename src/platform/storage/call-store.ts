import { GatewayError } from '../../domain/errors.ts';
import { isRefusedData } from './refused-data.ts';

/**
 * Calls the store. Does not change a GatewayError, and no error of which a retry is no remedy: it becomes `internal`.
 *
 * @throws {GatewayError} `unavailable` if the store fails
 */
export async function callStore<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (cause) {
    if (cause instanceof GatewayError || isRefusedData(cause)) throw cause;
    throw new GatewayError('unavailable', 'The store does not respond; try again later.', {
      cause,
      retryAfterSeconds: 5,
    });
  }
}
