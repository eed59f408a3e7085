import { SandboxError } from '../sandbox.ts';

/** Messages of `bwrap`, and the remedy for each. The first match applies. */
const advice: readonly [pattern: RegExp, says: string][] = [
  [
    /Unknown option/i,
    'Its version is too old. Headgate needs bubblewrap 0.8 or later: install a newer package of your distribution.',
  ],
  [
    /setuid|requires.*user namespaces|disable-userns/i,
    'Headgate needs a bwrap without the setuid bit, and user namespaces: `chmod u-s $(command -v bwrap)`.',
  ],
  [
    /No permissions to create new namespace|Creating new namespace failed|uid map|setting up uid|user namespace/i,
    'This host does not allow user namespaces. On Debian: `sysctl kernel.unprivileged_userns_clone=1`. On Ubuntu 23.10 or later: `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or an AppArmor profile for bwrap. Elsewhere: `sysctl user.max_user_namespaces=10000`. In a container: allow them in its seccomp profile.',
  ],
  [
    /mount.*proc|proc on/i,
    'The folder /proc cannot be mounted. In a container, it must not be masked (Docker: `--security-opt systempaths=unconfined`).',
  ],
  [
    /Can't find source path|Permission denied/i,
    'The folder of the sandboxes cannot be reached. If the gateway runs as root, every user must be able to enter it and the folders above it.',
  ],
  [/execvp bash|bash: .*No such file/i, 'Bash is missing: install it.'],
];

/** Returns the error of a sandbox that did not start. */
export function explainFailure(error: Error | undefined, complaint: string): SandboxError {
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') {
    const message =
      'Bubblewrap is not installed. Install it: `apt-get install bubblewrap` (Debian, Ubuntu), `dnf install bubblewrap` (Fedora), `apk add bubblewrap bash findutils coreutils util-linux` (Alpine).';
    return new SandboxError('unavailable', message);
  }
  const says = (error?.message ?? complaint).trim().split('\n').slice(0, 3).join(' ');
  const remedy = advice.find(([pattern]) => pattern.test(says))?.[1];
  return new SandboxError(
    'unavailable',
    `Bubblewrap does not work here: ${says || 'it ended at once'}.${remedy ? ` ${remedy}` : ''}`,
  );
}
