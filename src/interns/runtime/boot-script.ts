import { GATEWAY_NODE } from '../../platform/sandbox/sandbox.ts';
import type { BootFile } from './agent-files.ts';

/** Where an agent finds what the gateway wrote for it. It is not saved. */
export const BOOT_FOLDER = '/tmp/headgate';
export const INSTRUCTIONS_PATH = `${BOOT_FOLDER}/instructions.md`;
/** Exit code of a sandbox without Node. */
export const NO_NODE = 78;

/** The command of the built-in agent, whose heap is small. */
export const builtinCommand = [
  'node',
  '--max-old-space-size=192',
  '--max-semi-space-size=1',
  `${BOOT_FOLDER}/agent/main.js`,
];

/**
 * The built-in agent needs no TLS and no proxy of its own: without them Node takes a quarter less memory. Its commands get
 * the variables back.
 */
const SAVE_MEMORY =
  'export HEADGATE_NODE_CERTIFICATES=$NODE_EXTRA_CA_CERTS; unset NODE_USE_ENV_PROXY NODE_EXTRA_CA_CERTS';

/**
 * Starts the agent through a copy of the system's program loader that nobody can read. The kernel then closes the memory of
 * the process, its environment and its open files to all other processes, also to those of the same user: the commands of
 * the agent. Without a loader that fits, the agent starts as usual.
 *
 * @see https://man7.org/linux/man-pages/man2/PR_SET_DUMPABLE.2const.html
 */
const HIDE_PROCESS = [
  'loader=',
  'for each in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1; do',
  `  [ -e "$each" ] && cp "$each" ${BOOT_FOLDER}/bin/loader && chmod 111 ${BOOT_FOLDER}/bin/loader &&`,
  `    ${BOOT_FOLDER}/bin/loader --verify "$(command -v node)" >/dev/null 2>&1 && loader=${BOOT_FOLDER}/bin/loader && break`,
  'done',
].join('\n');

/**
 * Returns the script that reads files from its standard input, one after another, and then becomes the agent. The agent
 * writes its log to standard output.
 */
export function writeBootScript(files: readonly BootFile[], command: readonly string[]): string {
  const folders = [...new Set(files.map(({ path }) => path.split('/').slice(0, -1).join('/')))];
  return [
    `umask 077; rm -rf ${BOOT_FOLDER}; mkdir -p ${BOOT_FOLDER}/bin || exit 1`,
    ...folders.map((folder) => `mkdir -p ${quote(`${BOOT_FOLDER}/${folder}`)}`),
    ...files.map(({ path, content }) => `head -c ${content.length} >${quote(`${BOOT_FOLDER}/${path}`)} || exit 1`),
    `[ -x ${GATEWAY_NODE} ] && ln -s ${GATEWAY_NODE} ${BOOT_FOLDER}/bin/node`,
    `export PATH=${BOOT_FOLDER}/bin:$PATH`,
    ...(command[0] === 'node' ? [`command -v node >/dev/null || exit ${NO_NODE}`] : []),
    ...(command === builtinCommand ? [SAVE_MEMORY, HIDE_PROCESS] : []),
    'umask 022',
    command === builtinCommand
      ? `exec $loader "$(command -v node)" ${command.slice(1).map(quote).join(' ')} </dev/null 2>&1`
      : `exec ${command.map(quote).join(' ')} </dev/null 2>&1`,
  ].join('\n');
}

/** Quotes a text for a shell. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
