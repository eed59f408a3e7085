export interface CreditRecord {
  id: string;
  atMs: number;
  /** Below zero if credit is withdrawn. */
  nanoUsd: bigint;
  note: string | null;
}

export interface CreditReader {
  /** Sum of the credits of the organization in nano-dollars; null if none was ever added. */
  readCredits(): Promise<bigint | null>;
}

export interface CreditWriter {
  addCredit(credit: CreditRecord): Promise<void>;
  /** Turns credits off, as if none had ever been added. */
  deleteCredits(): Promise<void>;
}
