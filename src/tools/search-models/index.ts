import type { Caller } from '../../domain/caller.ts';
import type { Issue } from '../../domain/errors.ts';
import { defineServerTool, type ServerTool } from '../server-tool.ts';
import { findModels, type FoundModel } from './find-models.ts';
import { MAX_RESULTS, searchModelsArguments, searchModelsParameters } from './parameters.ts';

/** Lists the models that a caller may use. */
export type ListModels = (caller: Caller) => Promise<readonly FoundModel[]>;

const USUAL_RESULTS = 5;

/** Maximum characters of a description. */
const MAX_DESCRIPTION = 500;

/** Creates the tool that finds models of the gateway. @see docs/reference/tools/search-models.md */
export const createSearchModels = (listModels: ListModels): ServerTool =>
  defineServerTool({
    type: 'router:experimental__search_models',
    description:
      'Finds language models that this gateway offers, by words, modalities and length of context. Use it for ' +
      'questions about available models. Do not use it for facts about models that are not in its results.',
    parameters: searchModelsParameters,
    arguments: searchModelsArguments,
    check({ max_results: count = 1 }): Issue[] {
      if (count >= 1 && count <= MAX_RESULTS) return [];
      const message = `\`max_results\` must be an integer from 1 to ${MAX_RESULTS}, got ${count}.`;
      return [{ path: 'parameters.max_results', message }];
    },
    item: ({ query }) => (query === undefined ? {} : { query }),
    async execute(input, { max_results: count = USUAL_RESULTS }, { caller }) {
      const found = findModels(await listModels(caller), input);
      const models = found
        .slice(0, count)
        .map((model) => ({ ...model, description: model.description.slice(0, MAX_DESCRIPTION).toWellFormed() }));
      const result = { models, total_results: found.length, showing: models.length };
      const { query } = input;
      return { result, item: { ...(query !== undefined && { query }), result: JSON.stringify(result) } };
    },
  });
