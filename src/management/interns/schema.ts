import { Type } from 'typebox';
import { maybe } from '../../schema/shapes.ts';
import { type CheckedBody, createBodyCheck, strictBody } from '../check-body.ts';

const name = Type.String({
  minLength: 2,
  maxLength: 17,
  pattern: '^[a-z][a-z0-9]*(-[a-z0-9]+)*$',
  says: 'must be lower-case letters, digits and single hyphens between them, a letter first',
});
const uuid = Type.String({
  pattern: '^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$',
  says: 'must be a UUID',
});
const texts = {
  description: maybe(Type.String({ maxLength: 2000 })),
  instructions: maybe(Type.String({ maxLength: 100_000 })),
};

const createIntern = strictBody({
  name,
  workspace_id: uuid,
  ...texts,
  provision: Type.Optional(Type.Boolean()),
  vault_id: Type.Optional(uuid),
});
const updateIntern = strictBody({
  name: Type.Optional(name),
  ...texts,
  model: maybe(
    Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '^[A-Za-z0-9~._:@+-]+/[A-Za-z0-9~._:@+-]+$',
      says: 'must be a model slug, such as `openai/gpt-5-mini`',
    }),
  ),
});
const deleteIntern = strictBody({ acknowledge_workspace_loss: Type.Optional(Type.Boolean()) });

export type CreateInternBody = CheckedBody<typeof createIntern>;
export type UpdateInternBody = CheckedBody<typeof updateIntern>;
export const checkCreateIntern = createBodyCheck(createIntern);
export const checkUpdateIntern = createBodyCheck(updateIntern);
export const checkDeleteIntern = createBodyCheck(deleteIntern);
