export interface CreditRecord {
  id: string;
  atMs: number;
  /** Negative if credit is withdrawn. */
  nanoUsd: bigint;
  note: string | null;
}

export interface CreditReader {
  /** Reads the sum of the credits of the organization in nano-dollars; null if no credit was ever added. */
  readCredits(): Promise<bigint | null>;
}

export interface CreditWriter {
  addCredit(credit: CreditRecord): Promise<void>;
  /** Turns credits off, as if no credit had ever been added. */
  deleteCredits(): Promise<void>;
}
