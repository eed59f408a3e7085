import type { GatewayError } from './errors.ts';
import type { InputItem } from './items.ts';
import type { RequestSettings } from './request.ts';

/** The result of the inspection of an input. */
export type Verdict =
  | { readonly type: 'pass' }
  /** The run ends. What is recorded of it has the changes. */
  | { readonly type: 'block'; readonly error: GatewayError; readonly change?: InputChange | undefined }
  /** The run continues with the changes. */
  | { readonly type: 'replace'; readonly change: InputChange };

/** Changes of what a caller has sent. */
export interface InputChange {
  /** Other items. The original ones are discarded. */
  readonly input?: InputItem[] | undefined;
  readonly settings?: Pick<RequestSettings, 'instructions' | 'prompt'> | undefined;
}

export const pass: Verdict = { type: 'pass' };
