import type { Caller } from '../../domain/caller.ts';
import type { WriteLog } from './log-messages.ts';

/** Number of remembered pairs of key and model at which all are forgotten. Each takes about 200 bytes. */
const MAX_PAIRS = 5000;

/** A served request of which some fields had no effect. */
export interface PartlyServed {
  requestId: string;
  generationId: string;
  caller: Pick<Caller, 'keyHash' | 'keyName'>;
  model: string;
  provider: string;
  /** Names of fields, as the response header has them. */
  fields: string;
}

/** Logs dropped request fields once for each key and model, because a client sends the same fields with each request. */
export class DroppedFieldsLog {
  private readonly log: WriteLog;
  /** Hash of a key → models. */
  private readonly seen = new Map<string, Set<string>>();
  private pairs = 0;

  constructor(log: WriteLog) {
    this.log = log;
  }

  note({ requestId, generationId, caller, model, provider, fields }: PartlyServed): void {
    if (this.seen.get(caller.keyHash)?.has(model)) return;
    this.remember(caller.keyHash, model);
    this.log('request fields dropped', {
      request_id: requestId,
      generation_id: generationId,
      key_name: caller.keyName,
      key_hash: caller.keyHash.slice(0, 12),
      model,
      provider,
      fields,
    });
  }

  private remember(keyHash: string, model: string): void {
    if (this.pairs === MAX_PAIRS) {
      this.seen.clear();
      this.pairs = 0;
    }
    const models = this.seen.get(keyHash);
    if (models) models.add(model);
    else this.seen.set(keyHash, new Set([model]));
    this.pairs++;
  }
}
