import { GatewayError } from '../../domain/errors.ts';
import { type ItemFields, type ToolCallContext, ToolError, type ToolOutcome } from '../server-tool.ts';

/**
 * Returns the outcome of a call whose container cannot be used, with the fields that its item has anyway.
 *
 * @throws the error if the model must not read it, or the call is cancelled
 */
export function failCall(error: unknown, item: ItemFields, { signal }: Pick<ToolCallContext, 'signal'>): ToolOutcome {
  if (signal.aborted || !(error instanceof ToolError || error instanceof GatewayError)) throw error;
  const { message } = error;
  return { result: { error: message }, item: { ...item, error: message } };
}
