import { DEFAULT_WORKSPACE } from '../access/bootstrap.ts';
import { createKeyLabel, createKeyText, hashKey } from '../access/key-text.ts';
import { createKey as saveNewKey } from '../management/keys/change-key.ts';
import { readRateLimits } from '../management/rate-limit-fields.ts';
import { addMembers } from '../management/members/change-members.ts';
import { createWorkspace } from '../management/workspaces/change-workspace.ts';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { defaultKeySettings, type KeyRecord } from '../platform/storage/ports/keys.ts';
import type { ManagementTransaction } from '../platform/storage/ports/management.ts';
import { type LimitOptions, readLimits } from './change-keys.ts';
import { formatDay } from './format-time.ts';
import { readStore } from './open-store.ts';
import { operate } from './operate.ts';
import { type RateOptions, readRateOptions } from './rate-options.ts';
import { drawTable } from './table.ts';
import { CommandError, type Terminal } from './terminal.ts';

export interface CreateKeyOptions extends LimitOptions, RateOptions {
  name?: string;
  /** Name or id. */
  workspace?: string;
  member?: string;
  organization?: boolean;
  management?: boolean;
  /** ISO date, or `90d`, `12h`, `30m` from now. */
  expires?: string;
  /** Whom an application of the operator's makes it for. */
  external?: string;
}

/**
 * Makes a key. Its text goes to stdout, alone and once; what it is goes to stderr.
 *
 * @throws {CommandError} when the options contradict each other, or name a workspace that is not there
 */
export async function addKey({ stdout, stderr }: Terminal, config: Config, options: CreateKeyOptions): Promise<void> {
  const kind = readKind(options);
  const expiresAtMs = options.expires === undefined ? null : readExpiry(options.expires, currentTimeMs());
  const limits = readLimits(options);
  const rates = readRateOptions(options);
  if (kind === 'management' && Object.keys({ ...limits, ...rates }).length > 0) {
    throw new CommandError('A management key requests no models, so it has no limit.');
  }
  if (kind === 'management' && options.workspace !== undefined) {
    throw new CommandError('A management key administers all workspaces, so that it has none.');
  }
  const text = createKeyText(kind === 'management' ? 'management' : 'inference');
  const hash = hashKey(text);

  const key = await operate({ config, stderr }, (_, change) =>
    change(async (transaction, nowMs): Promise<KeyRecord> => {
      const workspaceId = await settleWorkspace(transaction, options.workspace, nowMs);
      const memberId = options.member ?? null;
      if (memberId !== null) await addMembers(transaction, workspaceId, [memberId], nowMs);
      const record: KeyRecord = {
        ...defaultKeySettings,
        hash,
        name: options.name ?? `key-${hash.slice(0, 8)}`,
        label: createKeyLabel(text),
        kind,
        workspaceId,
        memberId,
        disabled: false,
        createdAtMs: nowMs,
        expiresAtMs,
        ...limits,
        rateLimits: readRateLimits(rates),
        creatorUserId: memberId,
        externalUser: options.external ?? null,
      };
      await saveNewKey(transaction, record);
      return record;
    }),
  );

  stdout.write(`${text}\n`);
  const owner = key.memberId === null ? 'the organization' : `the member ${key.memberId}`;
  const what = kind === 'management' ? `management key "${key.name}"` : `inference key "${key.name}" for ${owner}`;
  const until = expiresAtMs === null ? '' : `, valid until ${new Date(expiresAtMs).toISOString()}`;
  stderr.write(`Created the ${what}${until}. Its text is shown only this once.\n`);
}

function readKind({ member, organization, management }: CreateKeyOptions): KeyRecord['kind'] {
  if ([member !== undefined, organization, management].filter(Boolean).length > 1) {
    throw new CommandError('Give one of --member, --organization and --management.');
  }
  return management ? 'management' : member === undefined ? 'organization' : 'member';
}

/** @throws {CommandError} when it is neither a date nor a duration, or has passed */
function readExpiry(text: string, nowMs: number): number {
  const [, count, unit = ''] = /^(\d+)([dhm])$/.exec(text) ?? [];
  const unitMs = { d: 86_400_000, h: 3_600_000, m: 60_000 }[unit];
  const isDate = /^\d{4}-\d\d-\d\d/.test(text);
  const atMs = unitMs !== undefined ? nowMs + Number(count) * unitMs : isDate ? Date.parse(text) : Number.NaN;
  if (!Number.isSafeInteger(atMs)) {
    throw new CommandError(
      `--expires ${text}: give a date like 2027-01-31, a time like 2027-01-31T12:00:00Z, or 90d, 12h, 30m.`,
    );
  }
  if (atMs <= nowMs) throw new CommandError(`--expires ${text}: that is over.`);
  return atMs;
}

/** The workspace that was named, or the only one, or the default one; in an empty store it is made. */
async function settleWorkspace(
  transaction: ManagementTransaction,
  named: string | undefined,
  nowMs: number,
): Promise<string> {
  const { rows: workspaces } = await transaction.listWorkspaces({ offset: 0, limit: Number.MAX_SAFE_INTEGER });
  if (workspaces.length === 0 && (named === undefined || named === DEFAULT_WORKSPACE)) {
    const body = { name: DEFAULT_WORKSPACE, slug: DEFAULT_WORKSPACE };
    return (await createWorkspace(transaction, body, nowMs)).id;
  }
  const wanted = named ?? (workspaces.length === 1 ? workspaces[0]!.id : DEFAULT_WORKSPACE);
  const found =
    workspaces.find(({ id, slug }) => id === wanted || slug === wanted) ??
    workspaces.find(({ name }) => name === wanted);
  if (found) return found.id;
  const known = workspaces.map(({ name }) => name).join(', ') || 'none';
  throw new CommandError(
    named === undefined
      ? `Say in which workspace: --workspace with one of ${known}.`
      : `There is no workspace "${named}" (there is: ${known}). Make it with "headgate workspaces create".`,
  );
}

/** Prints all keys, the newest first: as a table, or as a JSON list. */
export async function printKeys(terminal: Terminal, config: Config, options: { json?: boolean }): Promise<void> {
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
    stdout.write('There are no keys. "headgate keys create" makes one.\n');
    return;
  }
  const rows = keys.map((key) => [
    key.name,
    nameKind(key.kind),
    key.label,
    (key.kind !== 'management' && names.get(key.workspaceId)) || '-',
    key.kind === 'organization' ? '(organization)' : (key.memberId ?? '-'),
    readState(key, currentTimeMs()),
    formatDay(key.createdAtMs),
    key.hash.slice(0, 12),
  ]);
  const titles = ['NAME', 'KIND', 'LABEL', 'WORKSPACE', 'OWNER', 'STATE', 'CREATED', 'HASH'];
  stdout.write(
    drawTable(
      terminal,
      titles.map((title) => ({ title, canWrap: title === 'NAME' })),
      rows,
    ),
  );
}

/** In the words of the configuration and the guides: who a key is for is another matter. */
const nameKind = (kind: KeyRecord['kind']) => (kind === 'management' ? 'management' : 'inference');

export const readState = (key: KeyRecord, nowMs: number): string =>
  key.disabled ? 'disabled' : key.expiresAtMs !== null && key.expiresAtMs <= nowMs ? 'expired' : 'active';

/** In the words of the management API. */
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
