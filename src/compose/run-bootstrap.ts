import {
  applyBootstrap,
  type BootstrapPlan,
  findRemovedKeys,
  findWorkspaceIds,
  nameKeys,
} from '../access/bootstrap.ts';
import { hashKey } from '../access/key-text.ts';
import type { Config } from '../config/schema.ts';
import { currentTimeMs } from '../domain/clock.ts';
import { GatewayError } from '../domain/errors.ts';
import { checkBootstrapRules, saveBootstrapGuardrail } from '../management/guardrails/bootstrap-guardrail.ts';
import type { UpdateGuardrailBody } from '../management/guardrails/schema.ts';
import { checkUpdateKey } from '../management/keys/schema.ts';
import { updateKey } from '../management/keys/update-key.ts';
import type { ManagementParts } from '../management/parts.ts';
import type { ModulePlugins } from '../requests/module-plugins.ts';
import type { Storage } from '../platform/storage/storage.ts';
import { checkBootstrapPlugins } from './check-bootstrap-plugins.ts';
import { createContentGuardrails } from './create-content-guardrails.ts';

/**
 * Creates or updates what `bootstrap` of the configuration names, and disables keys that it no longer names. Idempotent.
 *
 * @param modules plugins of the operator, whose settings workspaces may save
 * @returns the names of the keys that were disabled; undefined: none
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
  await applyBootstrap(access, bootstrap);
  const disabled = await disableRemovedKeys(parts, access, bootstrap);
  if (bootstrap.guardrails.length === 0) return disabled;
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
  return disabled;
}

/**
 * Disables keys that the file no longer names, once each: a key that is enabled later by other means stays enabled.
 *
 * @returns their names; undefined: none
 */
async function disableRemovedKeys(
  parts: ManagementParts,
  access: Storage['access'],
  plan: Pick<BootstrapPlan, 'keys'>,
): Promise<string | undefined> {
  const removed = await findRemovedKeys(access, plan);
  for (const { hash } of removed) {
    await updateKey(parts, { keyHash: null }, hash, checkUpdateKey({ disabled: true }));
    await access.markBootstrapKey(hash, false);
  }
  const disabled = removed.filter((key) => !key.disabled);
  return disabled.length === 0 ? undefined : nameKeys(disabled);
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
