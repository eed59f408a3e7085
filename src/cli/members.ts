import { checkUpdateMember } from '../management/members/schema.ts';
import { updateMember } from '../management/members/update-member.ts';
import { writeMember } from '../management/members/write-member.ts';
import type { Config } from '../config/schema.ts';
import type { MemberRecord } from '../platform/storage/ports/members.ts';
import { formatDay } from './format-time.ts';
import { readStore } from './open-store.ts';
import { operate, operator } from './operate.ts';
import { type JsonOption, printObject } from './print-object.ts';
import { type RateOptions, readRateOptions } from './rate-options.ts';
import { drawTable } from './table.ts';
import { CommandError, type Terminal } from './terminal.ts';

const ALL = { offset: 0, limit: Number.MAX_SAFE_INTEGER };

/** Prints all members, the oldest first: as a table, or as a JSON list. */
export async function printMembers(
  terminal: Terminal,
  config: Pick<Config, 'storage'>,
  { json }: { json?: boolean },
): Promise<void> {
  const { stdout, stderr } = terminal;
  const { rows } = await readStore({ config, stderr }, ({ management }) => management.listMembers(ALL));
  if (json) {
    stdout.write(`${JSON.stringify(rows.map(writeMember), undefined, 2)}\n`);
    return;
  }
  if (rows.length === 0) {
    stdout.write('There are no members. "headgate workspaces members <workspace> --add <id>" creates one.\n');
    return;
  }
  const cells = rows.map(({ id, createdAtMs, rateLimits }) => [
    id,
    ...[rateLimits.requests_per_minute, rateLimits.tokens_per_minute, rateLimits.concurrent_requests].map(writeLimit),
    formatDay(createdAtMs),
  ]);
  const limits = ['REQUESTS/MIN', 'TOKENS/MIN', 'CONCURRENT'].map((title) => ({ title, isNumber: true }));
  stdout.write(drawTable(terminal, [{ title: 'MEMBER', canWrap: true }, ...limits, { title: 'CREATED' }], cells));
}

const writeLimit = (limit: number): string => (limit === 0 ? '-' : String(limit));

/** Prints a member. */
export async function showMember(
  terminal: Terminal,
  config: Pick<Config, 'storage'>,
  id: string,
  options: JsonOption,
): Promise<void> {
  const { stderr } = terminal;
  const member = await readStore({ config, stderr }, ({ management }) => resolveMember(management, id));
  printObject(terminal, writeMember(member), options);
}

/** Changes the rate limits of a member, then prints it. */
export async function changeMember(
  terminal: Terminal,
  config: Config,
  id: string,
  options: RateOptions & JsonOption,
): Promise<void> {
  const { stderr } = terminal;
  const limits = readRateOptions(options);
  if (Object.keys(limits).length === 0) {
    throw new CommandError('Nothing would change. See "headgate members update --help".');
  }
  const changed = await operate({ config, stderr }, async (parts) => {
    await resolveMember(parts.management, id);
    return updateMember(parts, operator, id, checkUpdateMember(limits));
  });
  printObject(terminal, writeMember(changed), options);
  const entry = config.bootstrap.members.find((member) => member.id === id);
  if (entry && Object.keys(limits).some((name) => name in entry)) {
    stderr.write(
      'It is in bootstrap.members: change it there, too, or the next start or reload restores its limits.\n',
    );
  }
}

/** @throws {CommandError} */
async function resolveMember(
  from: { findMember(id: string): Promise<MemberRecord | undefined> },
  id: string,
): Promise<MemberRecord> {
  const member = await from.findMember(id);
  if (member) return member;
  const remedy = `"headgate workspaces members <workspace> --add ${id}" creates it`;
  throw new CommandError(`There is no member "${id}"; ${remedy}.`);
}
