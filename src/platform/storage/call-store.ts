import { GatewayError } from '../../domain/errors.ts';

/**
 * Calls the store. Does not change a GatewayError.
 *
 * @throws {GatewayError} `unavailable` if the store fails
 */
export async function callStore<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError('unavailable', 'The store does not respond; try again later.', {
      cause,
      retryAfterSeconds: 5,
    });
  }
}
