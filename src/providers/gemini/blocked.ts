import { GatewayError } from '../../domain/errors.ts';
import type { GeminiResponse } from './wire.ts';

/** @throws {GatewayError} `content_policy` if the provider blocked the prompt before the model */
export function refuseBlocked({ promptFeedback }: GeminiResponse): void {
  const reason = promptFeedback?.blockReason;
  if (!reason) return;
  throw new GatewayError('content_policy', `The provider refused the prompt (${String(reason)}).`, {
    providerCode: String(reason),
  });
}
