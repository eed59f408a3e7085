import { Type } from 'typebox';
import { milliseconds } from './fields.ts';

export const timeoutsSection = Type.Object({
  request_ms: milliseconds('Deadline of a request. After it, 408.', 600_000),
  receive_ms: milliseconds('Time for a client to send its complete request. After it, 408.', 120_000, 1, {
    restart: true,
  }),
  connect_ms: milliseconds('Time to connect to a provider.', 5_000),
  first_byte_ms: milliseconds(
    'Time until a provider’s response begins. A response that is not streamed begins when the model has finished.',
    600_000,
  ),
  idle_ms: milliseconds('Idle time within a provider’s response. Models that reason are silent for minutes.', 300_000),
  total_ms: milliseconds('Time until a provider’s response is complete.', 600_000),
});

export const retrySection = Type.Object({
  attempts: Type.Integer({
    description: 'Maximum attempts at one endpoint per request, including the first. 1: no retries.',
    default: 3,
    minimum: 1,
    maximum: 10,
  }),
  backoff_ms: milliseconds(
    'Maximum of the random delay before the first retry. Doubles with each further retry.',
    250,
    0,
  ),
  max_backoff_ms: milliseconds('Upper bound of that maximum.', 4_000, 0),
  max_retry_after_ms: milliseconds('A provider with a longer `Retry-After` is not retried.', 5_000, 0),
  budget_ms: milliseconds('No retry starts later than this after the first attempt of the request.', 10_000, 0),
  share: Type.Number({
    description: 'Maximum retries of a provider within 60 seconds, as a share of its requests.',
    default: 0.1,
    minimum: 0,
    maximum: 1,
  }),
  minimum: Type.Integer({
    description: 'Number of retries of a provider within 60 seconds that are always allowed.',
    default: 10,
    minimum: 0,
    maximum: 1_000_000,
  }),
});
