import { Type } from 'typebox';
import { oneOf } from '../../schema/shapes.ts';

const closed = { additionalProperties: false };

/** `parameters` of `router:apply_patch`. */
export const applyPatchParameters = Type.Object({ engine: Type.Optional(oneOf('auto', 'native', 'router')) }, closed);

/** The arguments of its calls. */
export const applyPatchArguments = Type.Object(
  {
    operation: Type.Object(
      {
        type: oneOf('create_file', 'update_file', 'delete_file'),
        path: Type.String({ description: 'Path of the file, relative to the project.', examples: ['src/main.ts'] }),
        diff: Type.Optional(
          Type.String({
            description:
              'create_file: the content, each line after a `+`. update_file: hunks that begin with `@@`, of lines ' +
              'that begin with a space (context), `-` (removed) or `+` (added). delete_file: none.',
          }),
        ),
      },
      closed,
    ),
  },
  closed,
);
