import type { GatewayError } from './errors.ts';
import type { InputItem } from './items.ts';

/** What the inspection of an input came to. */
export type Verdict =
  | { readonly type: 'pass' }
  | { readonly type: 'block'; readonly error: GatewayError }
  /** The run goes on with other items, and nothing sees the ones that came. */
  | { readonly type: 'replace'; readonly input: InputItem[] };

export const pass: Verdict = { type: 'pass' };
