import { Type } from 'typebox';
import { innerModelParameters } from '../inner-model.ts';

const closed = { additionalProperties: false };

/** `parameters` of `router:advisor`. */
export const advisorParameters = Type.Object(
  {
    ...innerModelParameters,
    forward_transcript: Type.Optional(Type.Boolean()),
    stream: Type.Optional(Type.Boolean()),
  },
  closed,
);

const prompt = Type.String({ description: 'The question, with everything that the advisor needs to know.' });
const optionalPrompt = Type.String({ description: 'A question about the conversation, which the advisor sees.' });
const model = Type.Optional(Type.String({ description: 'Slug of the model to consult. Leave it out if unsure.' }));

/** The arguments of its calls. */
export const advisorArguments = Type.Object({ prompt: Type.Optional(prompt), model }, closed);

/** The parameters that the model sees. */
export function showArguments(parameters: { forward_transcript?: boolean; model?: string }): Record<string, unknown> {
  const fields = parameters.forward_transcript ? { prompt: Type.Optional(optionalPrompt) } : { prompt };
  const shown: object = Type.Object(parameters.model === undefined ? { ...fields, model } : fields, closed);
  return shown as Record<string, unknown>; // JSON Schema
}
