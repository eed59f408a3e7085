import { Type } from 'typebox';

/** `parameters` of `router:image_generation`: any setting of the image model. Its model decides which ones exist. */
export const imageGenerationParameters = Type.Unsafe<Record<string, string | number | unknown[]>>({
  type: 'object',
  properties: { model: Type.String() },
  additionalProperties: Type.Union([Type.String(), Type.Number(), Type.Array(Type.Unknown())]),
});

/** The arguments of its calls. */
export const imageGenerationArguments = Type.Object(
  {
    prompt: Type.String({
      description: 'The image in words: subject, surroundings, style, light, and any text that it shows.',
      minLength: 1,
      maxLength: 32_000,
      examples: ['A red fox in the snow, watercolor'],
    }),
  },
  { additionalProperties: false },
);
