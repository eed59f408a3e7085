/** Bytes that each response may use without a reservation. A response without an image needs no more. */
const SMALL_BYTES = 64 * 1024;
/** Reservation for a response of unknown size. */
const EXPECTED_BYTES = 8 * 1024 * 1024;

/**
 * Memory for large responses. Responses that do not fit wait in order, and their connections are not read. A waiting
 * response uses almost no memory, so none waits forever.
 */
export class ByteBudget {
  private readonly limitBytes: () => number;
  private readonly waiting: { share: ByteShare; bytes: number; go: () => void }[] = [];
  private reserved = 0;

  constructor(limitBytes: () => number) {
    this.limitBytes = limitBytes;
  }

  /** Opens the share of one response. */
  share(): ByteShare {
    return new ByteShare(this);
  }

  /** @returns a promise if too little is left; a response larger than the whole budget runs alone */
  reserve(share: ByteShare, bytes: number): Promise<void> | undefined {
    if (this.waiting.length === 0 && this.fits(bytes)) {
      this.reserved += bytes;
      return undefined;
    }
    return new Promise((go) => this.waiting.push({ share, bytes, go }));
  }

  /** Returns the bytes of a share to the budget, or removes the share from the queue if it still waits. */
  give(share: ByteShare, bytes: number): void {
    const at = this.waiting.findIndex((each) => each.share === share);
    if (at === -1) this.reserved -= bytes;
    else this.waiting.splice(at, 1)[0]!.go(); // it no longer waits
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

/** The share of the budget that one response uses. */
export class ByteShare {
  private readonly budget: ByteBudget;
  private reserved = 0;

  constructor(budget: ByteBudget) {
    this.budget = budget;
  }

  /**
   * Sets the total number of bytes in use. Reserves only once: a response that exceeds its reservation continues.
   *
   * @returns a promise if reading must pause until it is fulfilled
   */
  hold(bytes: number): Promise<void> | undefined {
    if (this.reserved > 0 || bytes <= SMALL_BYTES) return undefined;
    this.reserved = Math.max(bytes, EXPECTED_BYTES);
    return this.budget.reserve(this, this.reserved);
  }

  /** Releases the reservation. */
  free(): void {
    if (this.reserved === 0) return;
    const { reserved } = this;
    this.reserved = 0;
    this.budget.give(this, reserved);
  }
}
