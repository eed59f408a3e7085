import { createActivityHandler } from '../activity/handler.ts';
import { createAuditHandler } from '../audit/handler.ts';
import { createCreditsHandler } from '../credits/handler.ts';
import { createAssignmentHandlers, createGuardrailHandlers } from '../guardrails/handlers.ts';
import { createKeyHandlers } from '../keys/handlers.ts';
import { createMemberHandlers } from '../members/handlers.ts';
import { createPresetHandlers } from '../presets/handlers.ts';
import { createBudgetHandlers } from '../workspaces/budgets.ts';
import { createWorkspaceHandlers } from '../workspaces/handlers.ts';
import { createWorkspaceMemberHandlers } from '../workspaces/members.ts';
import type { ManagementApiParts } from './route-handler.ts';

/** Creates the handlers of the management API. */
export const createManagementHandlers = (parts: ManagementApiParts) => ({
  ...createKeyHandlers(parts),
  ...createWorkspaceHandlers(parts),
  ...createBudgetHandlers(parts),
  ...createWorkspaceMemberHandlers(parts),
  ...createMemberHandlers(parts),
  ...createGuardrailHandlers(parts),
  ...createAssignmentHandlers(parts),
  ...createPresetHandlers(parts),
  showCredits: createCreditsHandler(parts),
  listActivity: createActivityHandler(parts),
  listAudit: createAuditHandler(parts),
});
