import { GatewayError } from '../../domain/errors.ts';
import { copyError } from '../copy-error.ts';
import type { RunBase } from '../run/run.ts';

/**
 * Says of a refusal whose choice the refused model was, where the request named none.
 *
 * @param error of a run whose model cannot serve it
 */
export function explainModelDefault(error: unknown, { modelDefault }: Pick<RunBase, 'modelDefault'>): unknown {
  if (modelDefault === undefined || !(error instanceof GatewayError)) return error;
  const whose = `The request names no model; this one is the \`${modelDefault}\` of its workspace.`;
  return copyError(error, `${error.message} ${whose}`);
}
