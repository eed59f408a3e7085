/** One expression of a built-in filter. */
export interface Detector {
  /** An entity (`EMAIL`), a format of a secret, or the id of an injection pattern. */
  readonly id: string;
  /** The syntax of custom patterns, and looks at one character. */
  readonly source: string;
  readonly ignoreCase?: boolean;
  /** In UTF-16 code units. The default is `MAX_MATCH_LENGTH`. */
  readonly maxLength?: number;
  /** Whether what the expression found counts. Its time must be linear. */
  readonly check?: (text: string) => boolean;
  /** Units of work of the check for each character. Absent: a few. */
  readonly checkWork?: number;
}
