import type { ItemKey } from '../../domain/chunks.ts';
import type { GuardedRun } from './output-scanner.ts';

/** Remembers the calls that the gateway runs itself. The client does not see them, so they are not filtered. */
export class HiddenCalls {
  private readonly run: GuardedRun;
  private readonly keys = new Set<ItemKey>();

  constructor(run: GuardedRun) {
    this.run = run;
  }

  has(key: ItemKey): boolean {
    return this.keys.has(key);
  }

  /**
   * Notes whether the gateway runs the call that the key names from now on.
   *
   * @param called the function; false: it is not a call of a function
   */
  note(key: ItemKey, called: false | { name: string; namespace: string | undefined }): boolean {
    const isHidden = called !== false && this.run.toolLoop?.owns(called.name, called.namespace) === true;
    if (isHidden) this.keys.add(key);
    else this.keys.delete(key);
    return isHidden;
  }
}
