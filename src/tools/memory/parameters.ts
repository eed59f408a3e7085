import { Type } from 'typebox';

/** The arguments of calls of `router:memory`. */
export const memoryArguments = Type.Object(
  {
    action: Type.Enum(['read', 'write', 'delete'], { description: 'What to do.' }),
    key: Type.Optional(
      Type.String({
        description:
          'The name of the value: 1 to 128 letters, digits, dots, hyphens and underscores, such as user.name. Absent with read: the keys are listed.',
      }),
    ),
    value: Type.Optional(Type.String({ description: 'With write: the text to keep. It replaces the earlier one.' })),
  },
  { additionalProperties: false },
);
