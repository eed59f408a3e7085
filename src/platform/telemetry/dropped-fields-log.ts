import type { Caller } from '../../domain/caller.ts';
import type { WriteLog } from './log-messages.ts';

/** Maximum number of remembered pairs of key and model. Each takes about 200 bytes. */
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
  private readonly seen = new Set<string>();

  constructor(log: WriteLog) {
    this.log = log;
  }

  note({ requestId, generationId, caller, model, provider, fields }: PartlyServed): void {
    const pair = `${caller.keyHash} ${model}`;
    if (this.seen.has(pair)) return;
    if (this.seen.size >= MAX_PAIRS) this.seen.delete(this.seen.values().next().value!); // the oldest; it is not empty
    this.seen.add(pair);
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
}
