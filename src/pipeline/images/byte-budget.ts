/** Bytes that anybody may hold without asking: an answer that is no picture. */
const SMALL_BYTES = 64 * 1024;
/** What is reserved for an answer of which nobody knows how large it gets. */
const EXPECTED_BYTES = 8 * 1024 * 1024;

/**
 * Memory for large answers, handed out to as many as it is enough for; the others wait, in order, and with them their
 * providers, whose connections are not read meanwhile. Whoever waits holds next to nothing, so that none waits for ever.
 */
export class ByteBudget {
  private readonly limitBytes: () => number;
  private readonly waiting: { share: ByteShare; bytes: number; go: () => void }[] = [];
  private reserved = 0;

  constructor(limitBytes: () => number) {
    this.limitBytes = limitBytes;
  }

  /** For one answer. */
  share(): ByteShare {
    return new ByteShare(this);
  }

  /** @returns a promise when there is not enough left; an answer that is larger than all of it goes alone */
  reserve(share: ByteShare, bytes: number): Promise<void> | undefined {
    if (this.waiting.length === 0 && this.fits(bytes)) {
      this.reserved += bytes;
      return undefined;
    }
    return new Promise((go) => this.waiting.push({ share, bytes, go }));
  }

  /** Given back, also by one that still waits. */
  give(share: ByteShare, bytes: number): void {
    const at = this.waiting.findIndex((each) => each.share === share);
    if (at === -1) this.reserved -= bytes;
    else this.waiting.splice(at, 1)[0]!.go(); // it has given up
    for (let next = this.waiting[0]; next && this.fits(next.bytes); next = this.waiting[0]) {
      this.waiting.shift();
      this.reserved += next.bytes;
      next.go();
    }
  }

  private fits(bytes: number): boolean {
    return this.reserved === 0 || this.reserved + bytes <= this.limitBytes();
  }
}

/** What one answer holds of the budget. */
export class ByteShare {
  private readonly budget: ByteBudget;
  private reserved = 0;

  constructor(budget: ByteBudget) {
    this.budget = budget;
  }

  /**
   * Tells how much is held now, in all. It is asked for once; an answer that grows beyond what was expected goes on.
   *
   * @returns a promise when nothing more may be read before it is fulfilled
   */
  hold(bytes: number): Promise<void> | undefined {
    if (this.reserved > 0 || bytes <= SMALL_BYTES) return undefined;
    this.reserved = Math.max(bytes, EXPECTED_BYTES);
    return this.budget.reserve(this, this.reserved);
  }

  /** Nothing is held any more. */
  free(): void {
    if (this.reserved === 0) return;
    const { reserved } = this;
    this.reserved = 0;
    this.budget.give(this, reserved);
  }
}
