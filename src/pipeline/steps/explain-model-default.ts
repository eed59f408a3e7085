import { GatewayError } from '../../domain/errors.ts';
import { copyError } from '../copy-error.ts';
import type { RunBase } from '../run/run.ts';

/**
 * Adds to an error that the workspace chose the model, if the request named none.
 *
 * @param error of a run whose model cannot serve it
 */
export function explainModelDefault(error: unknown, { modelDefault }: Pick<RunBase, 'modelDefault'>): unknown {
  if (modelDefault === undefined || !(error instanceof GatewayError)) return error;
  const origin = `The request names no model; this one is the \`${modelDefault}\` of its workspace.`;
  return copyError(error, `${error.message} ${origin}`);
}
