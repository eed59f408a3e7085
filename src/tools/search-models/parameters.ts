import { Type } from 'typebox';

export const MAX_RESULTS = 20;

const closed = { additionalProperties: false };
const text = (description: string) => Type.Optional(Type.String({ description }));
const modalities = (description: string) => Type.Optional(Type.Array(Type.String(), { description }));

/** `parameters` of `router:experimental__search_models`. */
export const searchModelsParameters = Type.Object(
  { max_results: Type.Optional(Type.Integer({ documented: { minimum: 1, maximum: MAX_RESULTS } })) },
  closed,
);

/** The arguments of its calls. */
export const searchModelsArguments = Type.Object(
  {
    query: text('Words of the name or the description of a model.'),
    input_modalities: modalities('All that the model must read: text, image, file, audio, video.'),
    output_modalities: modalities('All that the model must write: text, image, audio.'),
    min_context_length: Type.Optional(Type.Integer({ description: 'Tokens of the context, at least.' })),
    series: text('The author in the slug, such as `openai` of `openai/gpt-5-mini`.'),
  },
  closed,
);
