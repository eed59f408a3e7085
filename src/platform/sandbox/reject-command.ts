import type { CommandResult } from './sandbox.ts';

/** Maximum bytes of one argument of a program on Linux, without its NUL. */
const MAX_COMMAND_BYTES = 128 * 1024 - 1;

/** Returns the result of a command that bash cannot run, and undefined for any other command. choice 494 */
export function rejectCommand(command: string): CommandResult | undefined {
  let reason: string | undefined;
  if (command.includes('\0')) reason = 'the command contains a NUL character';
  else if (Buffer.byteLength(command) > MAX_COMMAND_BYTES) reason = 'Argument list too long';
  if (reason === undefined) return undefined;
  return {
    stdout: Buffer.alloc(0),
    stderr: Buffer.from(`bash: ${reason}\n`),
    droppedBytes: { stdout: 0, stderr: 0 },
    outcome: { type: 'exit', exitCode: 126 },
  };
}
