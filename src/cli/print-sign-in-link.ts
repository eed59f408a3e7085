import { createSignInToken, writeSignInUrl } from '../access/console-sessions.ts';
import type { LoadedConfig } from '../config/load.ts';
import { currentTimeMs } from '../domain/clock.ts';
import type { KeyRecord } from '../platform/storage/ports/keys.ts';
import { writeUrl } from '../http/write-url.ts';
import { findLockOwner } from '../platform/data-folder/data-folder.ts';
import { findGateway } from './find-gateway.ts';
import { withStore } from './open-store.ts';
import { readKeyState, resolveKey } from './resolve-key.ts';
import { CommandError, type Terminal } from './terminal.ts';

/**
 * Writes a link to the console to stdout. It signs a person in once, with the rights of a key.
 *
 * @param wanted a key by hash or name. Absent: the oldest management key that is valid
 * @throws {CommandError} if there is no such key, or the console is off
 */
export async function printSignInLink(
  { stdout, stderr }: Terminal,
  { config, dataDir }: Pick<LoadedConfig, 'config' | 'dataDir'>,
  { key: wanted }: { key?: string },
): Promise<void> {
  if (!config.server.console) throw new CommandError('The console is off: `server.console` is false.');
  const { host, port, public_url } = config.server;
  const running = findLockOwner(dataDir)?.url ?? (await findGateway(config.server))?.url;
  const address = public_url ?? running ?? writeUrl(host, port);
  const { key, token } = await withStore({ config, stderr }, async ({ access, console }) => {
    const chosen = chooseKey(await access.listKeys(), wanted);
    return { key: chosen, token: await createSignInToken(console, chosen.hash) };
  });
  stdout.write(`${writeSignInUrl(address, token)}\n`);
  stderr.write(`The link works once, within an hour, with the rights of the key "${key.name}".\n`);
  if (running === undefined) stderr.write('No gateway runs here now. Start it before you open the link.\n');
}

function chooseKey(keys: readonly KeyRecord[], wanted: string | undefined): KeyRecord {
  const nowMs = currentTimeMs();
  if (wanted !== undefined) {
    const key = resolveKey(keys, wanted);
    const state = readKeyState(key, nowMs);
    if (state !== 'active') throw new CommandError(`The key "${key.name}" is ${state}.`);
    if (key.internId) throw new CommandError('The key of an intern cannot sign in to the console.');
    return key;
  }
  const [key] = keys
    .filter((each) => each.kind === 'management' && readKeyState(each, nowMs) === 'active')
    .toSorted((a, b) => a.createdAtMs - b.createdAtMs);
  if (key) return key;
  throw new CommandError('There is no valid management key. "headgate keys create --management" creates one.');
}
