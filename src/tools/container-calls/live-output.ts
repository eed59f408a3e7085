import type { ContainerCommand } from '../containers.ts';
import type { ToolCallContext, ToolEvent } from '../server-tool.ts';

/** A piece of the output of a command. */
interface Piece {
  readonly command_index: number;
  readonly stream: 'stdout' | 'stderr';
  delta: string;
}

/**
 * Sends the output of commands to the client while they run, if the request wants it. Pieces wait while the client reads
 * slowly; the limits of the output bound them.
 *
 * @see docs/reference/events.md#live-output
 */
export class LiveOutput {
  private readonly context: Pick<ToolCallContext, 'showsOutput' | 'emit'>;
  private waiting: Piece[] = [];
  private sending: Promise<void> | undefined;

  constructor(context: LiveOutput['context']) {
    this.context = context;
  }

  /** Returns what receives the output of a command. @param index of the command in its call */
  listen(index: number): Pick<ContainerCommand, 'onOutput'> {
    if (!this.context.showsOutput) return {};
    return { onOutput: (stream, delta) => this.add({ command_index: index, stream, delta }) };
  }

  /** Resolves when the client has everything so far. */
  async flush(): Promise<void> {
    await this.sending;
  }

  private add(piece: Piece): void {
    const last = this.waiting.at(-1);
    if (last?.stream === piece.stream && last.command_index === piece.command_index) last.delta += piece.delta;
    else this.waiting.push(piece);
    this.sending ??= this.send();
  }

  /** An event that cannot be sent ends the run, so there is nothing to do about it here. */
  private async send(): Promise<void> {
    try {
      while (this.waiting.length > 0) {
        const pieces = this.waiting.splice(0);
        await this.context.emit(pieces.map((piece): ToolEvent => ({ type: 'response.tool_output.delta', ...piece })));
      }
    } catch {
      this.waiting = [];
    } finally {
      this.sending = undefined;
    }
  }
}
