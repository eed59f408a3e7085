/** The code of an endpoint without a price, under a spending limit that needs one. */
export const UNPRICED = 'unpriced';

/** The reason of an exclusion. `code` is in `excluded_by` of docs/reference/errors.md#errormetadata, or our own. */
export interface Exclusion {
  code: string;
  /** A clause: "costs 3 USD per million input tokens". */
  reason: string;
}
