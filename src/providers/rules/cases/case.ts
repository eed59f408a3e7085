import type { ResponseRequest } from '../../../domain/request.ts';

/** One line of test: a rule, a request that needs it, and what the fitted body has. */
export interface RuleCase {
  /** The rules that the request needs. */
  rules: string | readonly string[];
  request: Partial<Omit<ResponseRequest, 'input'>> & { input?: ResponseRequest['input'] | string };
  /** Fields that the body must have (`toMatchObject`). */
  body?: object;
  /** Headers that the request must have. */
  headers?: object;
  /** The effort that the body of either format must have. */
  effort?: string;
  /** The limit of the output that the body of any format must have. */
  limit?: number;
  /** Fields that the body must not have. */
  without?: readonly string[];
  /** What `dropped` must contain. */
  dropped?: readonly string[];
  /** The error, if the request cannot be fitted. */
  error?: RegExp;
  /** Whether the gateway streams it, even if the client does not. */
  streams?: boolean;
  /** What the `readerContext` of the written request must match. */
  reader?: object;
  /** Whether the request is streamed. */
  stream?: boolean;
}
