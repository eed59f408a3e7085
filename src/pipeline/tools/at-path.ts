import { GatewayError, type Issue } from '../../domain/errors.ts';
import { copyError } from '../copy-error.ts';

/** Calls a function of a tool. Its error, and the problems in it, get the path of the tool. */
export function atPath<Result>(path: string, call: () => Result): Result {
  try {
    return call();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    const { message, metadata } = error;
    const given = (metadata['issues'] as Issue[] | undefined)?.map((issue) => ({
      ...issue,
      path: `${path}.${issue.path}`,
    }));
    const text = given ? `${path}.${message}` : `${path}: ${message}`;
    throw copyError(error, text, { metadata: { ...metadata, issues: given ?? [{ path, message }] } });
  }
}
