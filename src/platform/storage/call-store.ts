import { GatewayError } from '../../domain/errors.ts';

/** @throws {GatewayError} `unavailable` when the store fails; what was thrown on purpose stays as it is */
export async function callStore<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError('unavailable', 'The store does not answer; try again later.', {
      cause,
      retryAfterSeconds: 5,
    });
  }
}
