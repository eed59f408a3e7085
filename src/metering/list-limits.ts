import { type AccessStore, budgetIntervals, type ManagementStore } from '../platform/storage/storage.ts';
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
  access: Pick<AccessStore, 'listKeys' | 'listWorkspaces' | 'listMembers' | 'listAppliedGuardrails'>;
  management: Pick<ManagementStore, 'listBudgets' | 'findWorkspace' | 'readCredits'>;
  /** `budgets` of the configuration. */
  budgets: { organization: BudgetSettings; member: BudgetSettings };
}

/** What keys, members, workspaces and the organization may spend. @throws the store's error */
export async function listSpendingLimits(sources: LimitSources): Promise<SpendingLimit[]> {
  const { organization } = sources.budgets;
  const limits = await Promise.all([
    listKeyLimits(sources),
    listOfGuardrails(sources),
    listMemberLimits(sources),
    listWorkspaceLimits(sources),
    writeLimits(organization, { kind: 'organization', scope: 'everything', name: 'The organization' }),
    listCredits(sources),
  ]);
  return limits.flat();
}

async function listKeyLimits({ access }: LimitSources): Promise<SpendingLimit[]> {
  const keys = await access.listKeys();
  return keys.flatMap(({ hash: keyHash, name, limitNanoUsd, limitReset, includeByokInLimit }): SpendingLimit[] => {
    if (limitNanoUsd === null) return [];
    const window = limitReset ?? 'lifetime';
    const includesByok = includeByokInLimit;
    return [{ kind: 'key', scope: { keyHash }, window, limitNanoUsd, name: `The key ${name}`, includesByok }];
  });
}

async function listOfGuardrails({ access }: LimitSources): Promise<SpendingLimit[]> {
  const [applied, keys] = await Promise.all([access.listAppliedGuardrails(), access.listKeys()]);
  return listGuardrailLimits(applied, keys);
}

/** The same for each of them. */
async function listMemberLimits({ access, budgets: { member } }: LimitSources): Promise<SpendingLimit[]> {
  if (budgetIntervals.every((window) => member[window] === undefined)) return [];
  const members = await access.listMembers();
  return members.flatMap(({ id }) =>
    writeLimits(member, { kind: 'member', scope: { memberId: id }, name: `The member ${id}` }),
  );
}

async function listWorkspaceLimits({ access, management }: LimitSources): Promise<SpendingLimit[]> {
  const workspaces = await access.listWorkspaces();
  const limits = await Promise.all(
    workspaces.map(async ({ id: workspaceId, name }) => {
      const budgets = await management.listBudgets(workspaceId);
      if (budgets.length === 0) return [];
      const includesByok = (await management.findWorkspace(workspaceId))?.settings.includeByokInBudgets ?? false;
      return budgets.map(
        ({ interval, limitNanoUsd }): SpendingLimit => ({
          kind: 'workspace',
          scope: { workspaceId },
          window: interval,
          limitNanoUsd,
          name: `The workspace ${name}`,
          includesByok,
        }),
      );
    }),
  );
  return limits.flat();
}

/** What was paid in is for all time, and own keys are paid elsewhere. */
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
