import type { GatewayError } from './errors.ts';
import type { InputItem } from './items.ts';
import type { RequestSettings } from './request.ts';

/** The result of the inspection of an input. */
export type Verdict<Change = InputChange> =
  | { readonly type: 'pass' }
  /** The run ends. Its records have the changes. */
  | { readonly type: 'block'; readonly error: GatewayError; readonly change?: Change | undefined }
  /** The run continues with the changes. */
  | { readonly type: 'replace'; readonly change: Change };

/** Changes of the request of a caller. */
export interface InputChange {
  /** Items that replace the inspected ones. */
  readonly input?: InputItem[] | undefined;
  readonly settings?: Pick<RequestSettings, 'instructions' | 'prediction' | 'prompt'> | undefined;
}

export const pass = { type: 'pass' } as const;
