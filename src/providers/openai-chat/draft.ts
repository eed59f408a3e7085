import type { Draft } from '../kit/draft.ts';
import type { Dialect } from './dialect.ts';

/** A draft of this wire. The server determines its content. */
export interface ChatDraft extends Draft {
  dialect: Dialect;
  /** The budget of reasoning that the client has set, for a server that has one. */
  budget?: number;
}
