import type { GatewayError } from './errors.ts';
import type { InputItem } from './items.ts';

/** The result of the inspection of an input. */
export type Verdict =
  | { readonly type: 'pass' }
  | { readonly type: 'block'; readonly error: GatewayError }
  /** The run continues with other items. The original ones are discarded. */
  | { readonly type: 'replace'; readonly input: InputItem[] };

export const pass: Verdict = { type: 'pass' };
