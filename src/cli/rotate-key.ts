import { rotateKey } from '../management/keys/rotate-key.ts';
import type { Config } from '../config/schema.ts';
import { operate, operator } from './operate.ts';
import { resolveKey } from './resolve-key.ts';
import { CommandError, type Terminal } from './terminal.ts';
import { warnOfBootstrap } from './warn-of-bootstrap.ts';

/**
 * Replaces a key. Writes the text of the new key to stdout once, with nothing else.
 *
 * @param options.grace `1h`, `30m`, … up to a day: how long the old key stays valid
 */
export async function replaceKey(
  { stdout, stderr }: Terminal,
  config: Config,
  wanted: string,
  { grace }: { grace?: string },
): Promise<void> {
  const graceSeconds = grace === undefined ? 0 : readGrace(grace);
  const { previous, text } = await operate({ config, stderr }, async (parts) => {
    const { hash } = resolveKey(await parts.access.listKeys(), wanted);
    return rotateKey(parts, operator, hash, { graceSeconds });
  });
  stdout.write(`${text}\n`);
  const end = previous.disabled ? 'is disabled' : `ends on ${new Date(previous.expiresAtMs!).toISOString()}`;
  stderr.write(
    `"${previous.name}": the old key (${previous.label}) ${end}. This is the only time the new text is shown.\n`,
  );
  warnOfBootstrap({ stderr }, config, { section: 'keys', names: [previous.hash], changes: { disabled: true } });
}

function readGrace(text: string): number {
  const [, count, unit = ''] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * ({ s: 1, m: 60, h: 3600, d: 86_400 }[unit] ?? Number.NaN);
  if (!(seconds <= 86_400)) throw new CommandError(`--grace ${text}: give 30m, 12h, … up to 1d.`);
  return seconds;
}
