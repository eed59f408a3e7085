import type { Draft } from '../kit/draft.ts';
import type { Dialect } from './dialect.ts';

/** A draft of this wire: what is written depends on the server. */
export interface ChatDraft extends Draft {
  dialect: Dialect;
}
