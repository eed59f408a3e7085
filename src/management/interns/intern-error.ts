import { GatewayError } from '../../domain/errors.ts';

/** Codes of errors of interns that only one use case has. @see docs/reference/interns.md#errors */
export type InternErrorCode =
  | 'no_acting_user'
  | 'intern_busy'
  | 'idempotency_key_reused'
  | 'intern_limit_reached'
  | 'name_taken'
  | 'schedule_limit_reached'
  | 'schedule_paused';

/** Creates an error with its own code. */
export const createInternError = (reason: InternErrorCode, message: string): GatewayError =>
  new GatewayError(reason === 'no_acting_user' ? 'permission_denied' : 'conflict', message, { metadata: { reason } });

/** The error for an intern that does not exist, or that the caller cannot see. */
export const createMissingInternError = (): GatewayError =>
  new GatewayError('not_found', 'There is no intern with this id.', { metadata: { reason: 'not_found' } });
