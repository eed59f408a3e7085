import { type Static, Type } from 'typebox';
import { sortKeys } from '../../domain/request-defaults.ts';
import { maybe, nullable, oneOf } from '../../schema/shapes.ts';
import { isServerToolType, serverToolTypes } from '../../requests/responses/schema/server-tools.ts';
import { savedPlugins } from '../../requests/responses/schema/saved-plugins.ts';
import { type CheckedBody, createBodyCheck, plainText, strictBody } from '../check-body.ts';
import { rateLimitFields } from '../rate-limit-fields.ts';

const maxIdLength = 256;
const uuidShape = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const name = plainText({ minLength: 1, maxLength: 100 });
const slug = Type.Refine(
  Type.String({
    maxLength: 50,
    pattern: '^[a-z0-9]+(?:-[a-z0-9]+)*$',
    says: 'must be lower-case letters, digits and single hyphens between them',
  }),
  (text) => !uuidShape.test(text),
  () => 'must not look like an id, because paths accept both',
);

/** A tool of the interface, or one that an operator may have added. */
const serverToolType = Type.Refine(
  Type.String({ maxLength: 64 }),
  isServerToolType,
  () =>
    `must be one of ${serverToolTypes.join(', ')}, mcp, or the type of a tool that you have added, such as router:roll_dice`,
);

const settings = {
  description: maybe(Type.String({ maxLength: 500 })),
  default_text_model: maybe(plainText({ minLength: 1, maxLength: maxIdLength })),
  default_image_model: maybe(plainText({ minLength: 1, maxLength: maxIdLength })),
  default_provider_sort: maybe(oneOf(...sortKeys)),
  default_plugins: maybe(savedPlugins),
  disabled_server_tools: maybe(Type.Array(serverToolType, { maxItems: 100 })),
  is_observability_io_logging_enabled: Type.Optional(Type.Boolean()),
  is_observability_broadcast_enabled: Type.Optional(Type.Boolean()),
  is_data_discount_logging_enabled: Type.Optional(Type.Boolean()),
  io_logging_sampling_rate: Type.Optional(Type.Number({ minimum: 0.0001, maximum: 1 })),
  io_logging_api_key_ids: Type.Optional(nullable(Type.Array(Type.Integer(), { maxItems: 1000 }))),
  ledger_retention_days: maybe(Type.Integer({ minimum: 0, maximum: 36_500 })),
  ...rateLimitFields,
};

const createWorkspace = strictBody({ name, slug, ...settings });
const updateWorkspace = strictBody({ name: Type.Optional(name), slug: Type.Optional(slug), ...settings });

export type CreateWorkspaceBody = CheckedBody<typeof createWorkspace>;
export type UpdateWorkspaceBody = CheckedBody<typeof updateWorkspace>;
/** The fields that a workspace can change, checked or not. */
export type WorkspaceSettingsBody = Static<typeof updateWorkspace>;
export const checkCreateWorkspace = createBodyCheck(createWorkspace);
export const checkUpdateWorkspace = createBodyCheck(updateWorkspace);
