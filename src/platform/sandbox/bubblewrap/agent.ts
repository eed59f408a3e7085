import type { SandboxLimits, SandboxProgram } from '../sandbox.ts';
import { type NetworkRelay, PROXY_SOCKET } from '../network-relay.ts';
import { lowerOwnSession, SESSION_SCRIPT_PATH } from './session-priority.ts';
import { CONTROL_FOLDER } from './write-arguments.ts';

/** Open files of one process. */
const MAX_OPEN_FILES = 1024;

/**
 * Processes that a sandbox can have beyond the limit of its commands. The shells that start commands use them, so a
 * command begins even if others have left as many processes as they may.
 */
export const RESERVED_PROCESSES = 32;

/**
 * Returns the program of process 1, for `bash -c`. It sets the limits that processes inherit, closes
 * files that the gateway's own parent left open, says `ready`, lowers its own priority, and runs the script of each
 * number that it reads. At the end of its input, which is also the end of the gateway, it ends, and with
 * it all processes of the sandbox. As process 1 it cannot be killed from inside, and removes the processes that others
 * left behind. It opens the status pipe of each script, so that the pipe ends whenever another process kills the script.
 */
export const writeAgent = ({ processes, diskBytes }: SandboxLimits, relay?: NetworkRelay): string => `
ulimit -c 0 -n ${MAX_OPEN_FILES} -f ${Math.ceil(diskBytes / 1024)} -u ${processes + RESERVED_PROCESSES} || exit 1
echo 1000 >/proc/self/oom_score_adj
for fd in /proc/self/fd/*; do fd=\${fd##*/}; ((fd > 2)) && eval "exec $fd>&-"; done
${relay ? startRelay(relay) : ''}echo ready
exec >/dev/null 2>&1
${lowerOwnSession}
while IFS= read -r number; do
  exec 3>${CONTROL_FOLDER}/${pipeNames('$number').status} || continue
  ( . ${CONTROL_FOLDER}/${scriptName('$number')} ) <&- &
  exec 3>&-
done
`;

/** Starts the relay to the egress proxy, and waits until it listens. */
const startRelay = ({ command }: NetworkRelay): string => `
exec 3< <(exec ${[...command, PROXY_SOCKET].map(quote).join(' ')} </dev/null 2>/dev/null)
read -r _ <&3 || { echo 'The relay to the network proxy does not start.' >&2; exit 1; }
exec 3<&-
`;

/** The pipe of a process that has a standard input. */
export const inputName = (number: number): string => `${number}.in`;

/** The pipes of a command in the control folder. `$number`: for a shell. */
export const pipeNames = (number: number | '$number') => ({
  stdout: `${number}.out`,
  stderr: `${number}.err`,
  status: `${number}.status`,
});
export const scriptName = (number: number | '$number'): string => `${number}.sh`;

/**
 * Returns the script of a command. It writes two lines to its status pipe, which it has as descriptor 3: the process id of the
 * command when that has its pipes open, and the exit code. If it is killed, the pipe ends without them. The command cannot write
 * to that pipe, because it does not have it open.
 *
 * @param processes the limit of the command, with all others of the sandbox
 */
export function writeScript(
  number: number,
  { command, environment = {} }: Pick<SandboxProgram, 'command' | 'environment'>,
  { processes }: Pick<SandboxLimits, 'processes'>,
  hasInput = false,
): string {
  const { stdout, stderr } = pipeNames(number);
  const path = (name: string) => `${CONTROL_FOLDER}/${name}`;
  const input = hasInput ? path(inputName(number)) : '/dev/null';
  const errors = hasInput ? '/dev/null' : path(stderr);
  return `${Object.entries(environment)
    .map(([name, value]) => `export ${name}=${quote(value)}\n`)
    .join('')}(
  echo "$BASHPID" >&3
  ulimit -u ${processes}
  BASH_ENV=${SESSION_SCRIPT_PATH} exec setsid bash -c ${quote(command)} 3>&-
) <${input} >${path(stdout)} 2>${errors}
echo "$?" >&3
`;
}

/** Quotes a text for a shell, in which only the quote itself has a meaning. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
