import { GatewayError } from '../../domain/errors.ts';

/** An error in transit. A structured clone of an error would lose its fields and its class. */
export interface SerializedError {
  name: string;
  message: string;
  stack: string | undefined;
  /** Fields of the error itself: `code`, `errcode`, `syscall`, those of a `GatewayError`. */
  fields: Record<string, unknown>;
  cause: unknown;
  /** The errors of an `AggregateError`. */
  errors: unknown[] | undefined;
}

/** Maximum depth of nested causes. */
const DEEPEST = 4;

/** @returns the thrown value as data that can be cloned */
export function serializeError(error: unknown, depth = 0): SerializedError {
  if (!(error instanceof Error)) {
    return { name: 'Error', message: String(error), stack: undefined, fields: {}, cause: undefined, errors: undefined };
  }
  const { name, message, stack, cause } = error;
  const inner = (each: unknown) =>
    depth < DEEPEST && each !== undefined ? serializeError(each, depth + 1) : undefined;
  return {
    name,
    message,
    stack,
    fields: Object.fromEntries(Object.entries(error).filter(([field, value]) => field !== 'name' && canTravel(value))),
    cause: inner(cause),
    errors: error instanceof AggregateError ? error.errors.map(inner) : undefined,
  };
}

/** @returns a `GatewayError` if it was one, otherwise an `Error` with the same name, message and fields */
export function deserializeError({ name, message, stack, fields, cause, errors }: SerializedError): Error {
  const options = cause === undefined ? undefined : { cause: deserializeError(cause as SerializedError) };
  const error = name === 'GatewayError' ? new GatewayError('internal', message, options) : new Error(message, options);
  if (errors) Object.assign(error, { errors: errors.map((each) => deserializeError(each as SerializedError)) });
  Object.assign(error, fields); // the kind and options of a GatewayError
  Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
  if (stack !== undefined) error.stack = stack;
  return error;
}

function canTravel(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return typeof value !== 'function' && typeof value !== 'symbol';
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}
