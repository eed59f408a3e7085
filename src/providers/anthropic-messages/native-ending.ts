import type { NativeEnd } from '../../domain/native.ts';
import type { ResponseMessage } from './wire.ts';

type Fields = Record<string, unknown>;

/** Fields of the last change of a message that the gateway writes itself. */
const written: ReadonlySet<string> = new Set(['stop_reason', 'stop_details', 'stop_sequence']);
const ofEvent: ReadonlySet<string> = new Set(['type', 'delta', 'usage']);

/** Collects the end of a message for a client of the same format. */
export class NativeEnding {
  private stopSequence: unknown;
  private delta: Fields = {};
  private fields: Fields = {};

  start({ stop_sequence: sequence }: ResponseMessage): void {
    this.stopSequence = sequence;
  }

  /** Adds the last change. @param event that contains it */
  add(delta: Fields, event: Fields): void {
    this.stopSequence = delta.stop_sequence ?? this.stopSequence;
    Object.assign(this.delta, restOf(delta, written));
    Object.assign(this.fields, restOf(event, ofEvent));
  }

  finish(reason: string, details: unknown, usage: Fields): NativeEnd {
    const sequence = typeof this.stopSequence === 'string' ? this.stopSequence : null;
    const delta = { stop_reason: reason, stop_sequence: sequence, ...this.delta };
    return { delta: details ? { ...delta, stop_details: details } : delta, usage: { ...usage }, fields: this.fields };
  }
}

/** Returns the fields that have a value and are not known. */
export const restOf = (object: Fields, known: ReadonlySet<string>): Fields =>
  Object.fromEntries(Object.entries(object).filter(([name, value]) => !known.has(name) && value !== null));
