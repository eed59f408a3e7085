import type { CommandResult, SandboxLimits } from './sandbox.ts';

/** Exit code of a killed process: 128 + SIGKILL. */
export const KILLED = 137;

const COMMAND_KILLED =
  'Exit code 137: the command was killed by a process of the container, such as one that an earlier command left running, or because memory was short.';

/** Says that processes of ended commands were killed because they used up the limit. */
export const describeKilled = ({ processes }: Pick<SandboxLimits, 'processes'>): string =>
  `The processes that earlier commands had left were killed, because they used nearly all ${processes} processes and threads of the container.`;

/** Adds the notes for the next command that ends, and takes them. */
export function addNotes(result: CommandResult, next: Set<string>): CommandResult {
  const isKilled = result.outcome.type === 'exit' && result.outcome.exitCode === KILLED;
  const notes = isKilled ? [...next, COMMAND_KILLED] : [...next];
  next.clear();
  return notes.length > 0 ? { ...result, notes } : result;
}
