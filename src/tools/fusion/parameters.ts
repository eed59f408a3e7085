import { Type } from 'typebox';
import { fusionPresets } from '../../domain/fusion.ts';
import { anyObject, cacheControl, oneOf } from '../../schema/shapes.ts';
import { innerReasoning } from '../inner-model.ts';

/** The models, the budget and the preset of a panel: of the tool, and of the plugin. */
export const fusionLimits = {
  analysis_models: Type.Optional(
    Type.Array(Type.String({ documented: { pattern: '\\S' } }), { minItems: 1, maxItems: 8 }),
  ),
  max_tool_calls: Type.Optional(Type.Integer({ minimum: 1, maximum: 16 })),
  model: Type.Optional(Type.String({ documented: { pattern: '\\S' } })),
  preset: Type.Optional(oneOf(...fusionPresets)),
};

/** `tools[].parameters` of `router:fusion`. @see docs/reference/tools/fusion.md */
export const fusionParameters = Type.Object(
  {
    ...fusionLimits,
    cache_control: Type.Optional(cacheControl),
    max_completion_tokens: Type.Optional(Type.Integer({ documented: { minimum: 1 } })),
    reasoning: Type.Optional(innerReasoning),
    temperature: Type.Optional(Type.Number({ documented: { minimum: 0, maximum: 2 } })),
    tools: Type.Optional(
      Type.Array(Type.Object({ type: Type.String(), parameters: Type.Optional(anyObject()) }), { maxItems: 8 }),
    ),
  },
  { additionalProperties: false },
);

export const fusionArguments = Type.Object(
  {
    prompt: Type.Optional(
      Type.String({
        description:
          'The question for the panel, complete in itself: the models see nothing else of the conversation. Without it, they get the last message of the user.',
      }),
    ),
  },
  { additionalProperties: false },
);
