import { type Intern, provisioningSteps } from '../../domain/intern.ts';

/** Writes an intern. All 14 fields are always present. @see docs/reference/interns.md#the-intern-object */
export const writeIntern = (intern: Intern) => ({
  id: intern.id,
  name: intern.name,
  description: intern.description,
  instructions: intern.instructions,
  model: intern.model,
  status: intern.status,
  hostname: intern.hostname,
  workspaceId: intern.workspaceId,
  vault_id: intern.hasVault ? intern.vaultId : null,
  attached_vault_id: intern.attachedVaultId,
  progress: writeProgress(intern),
  lastFailureMessage: intern.lastFailureMessage,
  createdAt: new Date(intern.createdAtMs).toISOString(),
  updatedAt: new Date(intern.updatedAtMs).toISOString(),
});

function writeProgress({ status, step }: Intern) {
  const stepLabel = step === null ? undefined : provisioningSteps[step - 1];
  if (status !== 'provisioning' || step === null || stepLabel === undefined) return null;
  return { stepLabel, stepNumber: step, totalSteps: provisioningSteps.length };
}
