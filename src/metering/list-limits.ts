import type { AccessStore } from '../platform/storage/ports/access.ts';
import { budgetIntervals } from '../platform/storage/ports/budgets.ts';
import type { KeyRecord } from '../platform/storage/ports/keys.ts';
import type { ManagementStore } from '../platform/storage/ports/management.ts';
import { nanoUsdOf } from './cost.ts';
import { listGuardrailLimits } from './guardrail-limits.ts';
import type { SpendingLimit } from './spending.ts';

/** USD for each window; absent: no limit. Keys as in the configuration. */
export interface BudgetSettings {
  daily?: number;
  weekly?: number;
  monthly?: number;
  lifetime?: number;
  include_byok: boolean;
}

export interface LimitSources {
  access: Pick<AccessStore, 'listKeys' | 'listMembers' | 'listAppliedGuardrails'>;
  management: Pick<ManagementStore, 'listBudgets' | 'listWorkspaces' | 'readCredits'>;
  /** `budgets` of the configuration. */
  budgets: {
    organization: BudgetSettings;
    member: BudgetSettings;
    tags: readonly (BudgetSettings & { tag: string })[];
  };
}

/** Lists all spending limits with a constant number of queries. @throws the store's error */
export async function listSpendingLimits(sources: LimitSources): Promise<SpendingLimit[]> {
  const { organization, tags } = sources.budgets;
  const keys = sources.access.listKeys();
  const limits = await Promise.all([
    keys.then(listKeyLimits),
    keys.then(async (all) => listGuardrailLimits(await sources.access.listAppliedGuardrails(), all)),
    listMemberLimits(sources),
    tags.flatMap((each) => writeLimits(each, { kind: 'tag', scope: { tag: each.tag }, name: `The tag "${each.tag}"` })),
    listWorkspaceLimits(sources),
    writeLimits(organization, { kind: 'organization', scope: 'everything', name: 'The organization' }),
    listCredits(sources),
  ]);
  return limits.flat();
}

function listKeyLimits(keys: readonly KeyRecord[]): SpendingLimit[] {
  return keys.flatMap(({ hash: keyHash, name, limitNanoUsd, limitReset, includeByokInLimit }): SpendingLimit[] => {
    if (limitNanoUsd === null) return [];
    const window = limitReset ?? 'lifetime';
    const includesByok = includeByokInLimit;
    return [{ kind: 'key', scope: { keyHash }, window, limitNanoUsd, name: `The key "${name}"`, includesByok }];
  });
}

/** Lists the member limits, which are the same for each member. */
async function listMemberLimits({ access, budgets: { member } }: LimitSources): Promise<SpendingLimit[]> {
  if (budgetIntervals.every((window) => member[window] === undefined)) return [];
  const members = await access.listMembers();
  return members.flatMap(({ id }) =>
    writeLimits(member, { kind: 'member', scope: { memberId: id }, name: `The member "${id}"` }),
  );
}

async function listWorkspaceLimits({ management }: LimitSources): Promise<SpendingLimit[]> {
  const budgets = await management.listBudgets();
  if (budgets.length === 0) return [];
  const { rows } = await management.listWorkspaces({ offset: 0, limit: Number.MAX_SAFE_INTEGER });
  const workspaces = new Map(rows.map((workspace) => [workspace.id, workspace]));
  return budgets.flatMap(({ workspaceId, interval, limitNanoUsd }): SpendingLimit[] => {
    const workspace = workspaces.get(workspaceId);
    if (!workspace) return []; // created since
    const { name, settings } = workspace;
    const includesByok = settings.includeByokInBudgets;
    return [
      {
        kind: 'workspace',
        scope: { workspaceId },
        window: interval,
        limitNanoUsd,
        name: `The workspace "${name}"`,
        includesByok,
      },
    ];
  });
}

/** Lists the credits as a lifetime limit without BYOK. */
async function listCredits({ management }: LimitSources): Promise<SpendingLimit[]> {
  const limitNanoUsd = await management.readCredits();
  if (limitNanoUsd === null) return [];
  const name = 'The organization';
  return [{ kind: 'credits', scope: 'everything', window: 'lifetime', limitNanoUsd, name, includesByok: false }];
}

function writeLimits(budgets: BudgetSettings, whose: Pick<SpendingLimit, 'kind' | 'scope' | 'name'>): SpendingLimit[] {
  return budgetIntervals.flatMap((window): SpendingLimit[] => {
    const dollars = budgets[window];
    if (dollars === undefined) return [];
    return [{ ...whose, window, limitNanoUsd: nanoUsdOf(dollars), includesByok: budgets.include_byok }];
  });
}
