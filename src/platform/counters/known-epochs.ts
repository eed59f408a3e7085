/** Maximum accounts to remember. Other accounts count as unused. */
const MAX_ACCOUNTS = 50_000;

/** Creation times of the accounts that this process has used, in Unix milliseconds by the clock of the counters. */
export class KnownEpochs {
  private readonly epochs = new Map<string, number>();

  get(account: string): number | undefined {
    return this.epochs.get(account);
  }

  set(account: string, epoch: number): void {
    if (this.epochs.size >= MAX_ACCOUNTS && !this.epochs.has(account)) {
      this.epochs.delete(this.epochs.keys().next().value!);
    }
    this.epochs.set(account, epoch);
  }
}
