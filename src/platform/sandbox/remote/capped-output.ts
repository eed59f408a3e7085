import type { CommandResult, SandboxCommand } from '../sandbox.ts';

/** The output of a command up to a size of each stream. */
export class CappedOutput {
  private readonly maxBytes: number;
  private readonly onOutput: SandboxCommand['onOutput'];
  private readonly pieces = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  private readonly kept = { stdout: 0, stderr: 0 };
  private readonly dropped = { stdout: 0, stderr: 0 };

  constructor(maxBytes: number, onOutput?: SandboxCommand['onOutput']) {
    this.maxBytes = maxBytes;
    this.onOutput = onOutput;
  }

  add(stream: 'stdout' | 'stderr', bytes: Buffer): void {
    const piece = Buffer.from(bytes.subarray(0, this.maxBytes - this.kept[stream]));
    this.kept[stream] += piece.length;
    this.dropped[stream] += bytes.length - piece.length;
    if (piece.length === 0) return;
    this.pieces[stream].push(piece);
    this.onOutput?.(stream, piece);
  }

  describe(outcome: CommandResult['outcome']): CommandResult {
    const { stdout, stderr } = this.pieces;
    return {
      stdout: Buffer.concat(stdout),
      stderr: Buffer.concat(stderr),
      droppedBytes: { ...this.dropped },
      outcome,
    };
  }
}
