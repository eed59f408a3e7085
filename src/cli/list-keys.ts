import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import type { KeyRecord } from '../platform/storage/ports/keys.ts';
import { formatDay } from './format-time.ts';
import { readStore } from './open-store.ts';
import { readKeyState } from './resolve-key.ts';
import { drawTable } from './table.ts';
import type { Terminal } from './terminal.ts';

/** Prints all keys, the newest first: as a table, or as a JSON list. */
export async function printKeys(
  terminal: Terminal,
  config: Pick<Config, 'storage'>,
  options: { json?: boolean },
): Promise<void> {
  const { stdout, stderr } = terminal;
  const [keys, workspaces] = await readStore({ config, stderr }, ({ access }) =>
    Promise.all([access.listKeys(), access.listWorkspaces()]),
  );
  keys.sort((a, b) => b.createdAtMs - a.createdAtMs);
  const names = new Map(workspaces.map(({ id, name }) => [id, name]));
  if (options.json) {
    stdout.write(
      `${JSON.stringify(
        keys.map((key) => writeKey(key, names)),
        undefined,
        2,
      )}\n`,
    );
    return;
  }
  if (keys.length === 0) {
    stdout.write('There are no keys. "headgate keys create" creates one.\n');
    return;
  }
  const rows = keys.map((key) => [
    key.name,
    nameKind(key.kind),
    shortenLabel(key.label),
    (key.kind !== 'management' && names.get(key.workspaceId)) || '-',
    key.kind === 'organization' ? '(org)' : (key.memberId ?? '-'),
    readKeyState(key, currentTimeMs()),
    formatDay(key.createdAtMs),
    key.hash.slice(0, 8),
  ]);
  const titles = ['NAME', 'KIND', 'LABEL', 'WORKSPACE', 'OWNER', 'STATE', 'CREATED', 'HASH'];
  stdout.write(
    drawTable(
      terminal,
      titles.map((title) => ({ title, canWrap: ['NAME', 'WORKSPACE', 'OWNER'].includes(title) })),
      rows,
    ),
  );
}

/** Leaves out the prefix, which only repeats the kind. */
const shortenLabel = (label: string): string => label.replace(/^sk-rt-(?:mgmt-)?v1-/, '');

/** Names the kind as the configuration does, without the owner. */
const nameKind = (kind: KeyRecord['kind']) => (kind === 'management' ? 'management' : 'inference');

/** Writes a key with the names of the management API. */
function writeKey(key: KeyRecord, workspaceNames: ReadonlyMap<string, string>) {
  const writeTime = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    hash: key.hash,
    name: key.name,
    label: key.label,
    kind: nameKind(key.kind),
    acts_as: key.kind === 'management' ? null : key.kind,
    workspace_id: key.kind === 'management' ? null : key.workspaceId,
    workspace: (key.kind !== 'management' && workspaceNames.get(key.workspaceId)) || null,
    member: key.memberId,
    disabled: key.disabled,
    created_at: writeTime(key.createdAtMs),
    expires_at: writeTime(key.expiresAtMs),
  };
}
