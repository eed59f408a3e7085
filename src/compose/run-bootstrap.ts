import { applyBootstrap, findWorkspaceIds } from '../access/bootstrap.ts';
import { hashKey } from '../access/key-text.ts';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { GatewayError } from '../domain/errors.ts';
import { checkBootstrapRules, saveBootstrapGuardrail } from '../management/guardrails/bootstrap-guardrail.ts';
import type { UpdateGuardrailBody } from '../management/guardrails/schema.ts';
import type { ManagementParts } from '../management/parts.ts';
import type { ModulePlugins } from '../requests/module-plugins.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { checkBootstrapPlugins } from './check-bootstrap-plugins.ts';
import { createContentGuardrails } from './create-content-guardrails.ts';

/**
 * Creates or updates what `bootstrap` of the configuration names. Idempotent.
 *
 * @param modules plugins of the operator, whose settings workspaces may save
 * @returns a warning about keys that are no longer in the file; undefined: none
 * @throws with a message for the operator, before anything is changed; the store's error
 */
export async function runBootstrap(
  { access, management, ledger }: Pick<Storage, 'access' | 'management' | 'ledger'>,
  config: Config,
  modules: ModulePlugins,
): Promise<string | undefined> {
  const { bootstrap } = config;
  const parts: ManagementParts = {
    access,
    management,
    ledger,
    now: currentTimeMs,
    contentFilters: createContentGuardrails(
      () => config,
      () => {},
    ),
    onChange: async () => {}, // the keys are read afterwards
  };
  checkBootstrapPlugins(bootstrap, modules);
  const bodies = await checkBootstrapGuardrails(parts, bootstrap);
  const orphaned = await applyBootstrap(access, bootstrap);
  if (bootstrap.guardrails.length === 0) return orphaned;
  const idOf = findWorkspaceIds(await access.listWorkspaces());
  for (const [index, guardrail] of bootstrap.guardrails.entries()) {
    const workspaceId = idOf(guardrail.workspace);
    const hashes = bootstrap.keys.flatMap(({ name, key, workspace }) =>
      guardrail.keys?.includes(name) && workspace && idOf(workspace) === workspaceId ? [hashKey(key)] : [],
    );
    await saveBootstrapGuardrail(parts, {
      name: guardrail.name,
      workspaceId,
      isDefault: guardrail.default,
      body: bodies[index]!,
      keys: guardrail.keys && hashes,
      members: guardrail.members,
    });
  }
  return orphaned;
}

/** Checks the rules of the guardrails. @throws with a message for the operator */
export async function checkBootstrapGuardrails(
  parts: Pick<ManagementParts, 'contentFilters'>,
  { guardrails }: Config['bootstrap'],
): Promise<UpdateGuardrailBody[]> {
  const bodies: UpdateGuardrailBody[] = [];
  for (const [index, { name, rules }] of guardrails.entries()) {
    try {
      bodies.push(await checkBootstrapRules(parts, name, rules));
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      throw new Error(`bootstrap.guardrails[${index}].rules: ${error.message}`, { cause: error });
    }
  }
  return bodies;
}
