import { provisionKey } from '../management/keys/provision-key.ts';
import { checkProvisionKey } from '../management/keys/schema.ts';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import type { KeyRecord } from '../platform/storage/ports/keys.ts';
import { type LimitOptions, readLimits } from './limit-options.ts';
import { operate, operator } from './operate.ts';
import { type RateOptions, readRateOptions } from './rate-options.ts';
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
  /** The user of the operator's application that the key is for. */
  external?: string;
}

/**
 * Creates a key. Writes its text to stdout once, with nothing else. Writes a description of the key to stderr.
 *
 * @throws {CommandError} if the options contradict each other, or name an unknown workspace
 */
export async function addKey({ stdout, stderr }: Terminal, config: Config, options: CreateKeyOptions): Promise<void> {
  const kind = readKind(options);
  const { name, workspace, member, expires, external } = options;
  if (kind === 'management' && workspace !== undefined) {
    throw new CommandError('A management key administers all workspaces, so it has none.');
  }
  const wanted = {
    ...(name !== undefined && { name }),
    ...(member !== undefined && { creator_user_id: member }),
    ...(expires !== undefined && { expires_at: readExpiry(expires, currentTimeMs()) }),
    ...(external !== undefined && { external: { user: external } }),
    ...readLimits(options),
    ...readRateOptions(options),
  };
  const { key, text } = await operate({ config, stderr }, (parts) =>
    provisionKey(parts, operator, {
      isManagement: kind === 'management',
      workspace,
      body: checkProvisionKey(wanted),
    }),
  );
  stdout.write(`${text}\n`);
  const owner = key.memberId === null ? 'the organization' : `the member ${key.memberId}`;
  const what = kind === 'management' ? `management key "${key.name}"` : `inference key "${key.name}" for ${owner}`;
  const until = key.expiresAtMs === null ? '' : `, valid until ${new Date(key.expiresAtMs).toISOString()}`;
  stderr.write(`Created the ${what}${until}. The key is not shown again.\n`);
}

function readKind({ member, organization, management }: CreateKeyOptions): KeyRecord['kind'] {
  if ([member !== undefined, organization, management].filter(Boolean).length > 1) {
    throw new CommandError('Use only one of --member, --organization and --management.');
  }
  return management ? 'management' : member === undefined ? 'organization' : 'member';
}

/** Returns a date or a duration as a time of the API. @throws {CommandError} if it is neither */
function readExpiry(text: string, nowMs: number): string {
  const [, count, unit = ''] = /^(\d+)([dhm])$/.exec(text) ?? [];
  const unitMs = { d: 86_400_000, h: 3_600_000, m: 60_000 }[unit];
  const isDate = /^\d{4}-\d\d-\d\d/.test(text);
  const time = new Date(unitMs !== undefined ? nowMs + Number(count) * unitMs : isDate ? Date.parse(text) : Number.NaN);
  if (Number.isFinite(time.getTime())) return time.toISOString();
  throw new CommandError(
    `--expires ${text}: give a date like 2027-01-31, a time like 2027-01-31T12:00:00Z, or 90d, 12h, 30m.`,
  );
}
