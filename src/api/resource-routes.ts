import { accountingRoutes } from './accounting/routes.ts';
import { alertRoutes } from './alerts/routes.ts';
import { containerRoutes } from './containers/routes.ts';
import { fileRoutes } from './files/routes.ts';
import { assignmentRoutes } from './guardrails/assignments.ts';
import { guardrailRoutes } from './guardrails/routes.ts';
import { internRoutes } from './interns/routes.ts';
import { scheduleRoutes } from './interns/schedule-routes.ts';
import { keyRoutes } from './keys/routes.ts';
import { memberRoutes } from './members/routes.ts';
import { presetRoutes } from './presets/routes.ts';
import { vaultRoutes } from './vault/routes.ts';
import { budgetRoutes } from './workspaces/budgets.ts';
import { workspaceMemberRoutes } from './workspaces/members.ts';
import { workspaceRoutes } from './workspaces/routes.ts';

/**
 * The routes of stored resources, by the name of the parts that they need. The command line has a command for each, and
 * loads them without the pipelines. Add new routes of resources here.
 */
export const resourceRoutes = {
  management: [
    ...keyRoutes,
    ...workspaceRoutes,
    ...budgetRoutes,
    ...workspaceMemberRoutes,
    ...memberRoutes,
    ...guardrailRoutes,
    ...assignmentRoutes,
    ...accountingRoutes,
    ...alertRoutes,
    ...presetRoutes,
  ],
  files: fileRoutes,
  containers: containerRoutes,
  vaults: vaultRoutes,
  interns: internRoutes,
  schedules: scheduleRoutes,
};
