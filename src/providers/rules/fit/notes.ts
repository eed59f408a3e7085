/** What fitting a request to the rules of its endpoint changed. */
export interface FitNotes {
  /** Fields that lost something, for the response: `temperature`, `reasoning.effort (xhigh → high)`. */
  readonly dropped: string[];
  /** Changes without a loss, for the metadata: `call ids`. Each once. */
  readonly adapted: Set<string>;
}
