/** A part of a list. */
export interface Page {
  offset: number;
  limit: number;
}

export interface Listed<Row> {
  rows: Row[];
  /** Number of rows on all pages. */
  total: number;
}
