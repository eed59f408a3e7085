import type { Issue } from '../../domain/errors.ts';
import { defineServerTool, type ServerTool } from '../server-tool.ts';
import { toolSearchArguments, toolSearchParameters } from './parameters.ts';

/**
 * Compiles a regular expression that ignores case and is searched for in linear time.
 *
 * @returns whether a text contains it
 * @throws an error with a message for the author of the expression
 */
export type CompilePattern = (pattern: string) => Promise<(text: string) => boolean>;

const USUAL_RESULTS = 5;
const MAX_RESULTS = 50;

/** In UTF-16 code units. */
const MAX_PATTERN = 200;

/** Creates the tool that finds deferred tools of the request. @see docs/reference/tools/tool-search.md */
export const createToolSearch = (compilePattern: CompilePattern): ServerTool =>
  defineServerTool({
    type: 'router:tool_search',
    description:
      'Finds more tools by a regular expression. The tools that it returns can be called from the next turn on. Use it ' +
      'if none of the present tools fits the task.',
    parameters: toolSearchParameters,
    arguments: toolSearchArguments,
    check({ max_results: count = 1 }): Issue[] {
      if (count >= 1) return [];
      return [{ path: 'parameters.max_results', message: `\`max_results\` must be 1 or more, got ${count}.` }];
    },
    item: ({ query }) => ({ query }),
    async execute({ query, max_results: wanted }, { max_results: limit = USUAL_RESULTS }, { deferred, fail }) {
      if (query.length > MAX_PATTERN) {
        fail(`The expression has ${query.length} characters. At most ${MAX_PATTERN} are allowed.`);
      }
      const contains = await compilePattern(query).catch((error: Error) => fail(error.message));
      const count = Math.max(1, Math.min(wanted ?? limit, limit, MAX_RESULTS));
      const found = deferred.filter(({ texts }) => texts.some(contains)).slice(0, count);
      for (const tool of found) tool.reveal();
      const result = { tools: found.map(({ name, description }) => ({ name, description })) };
      return { result, item: { query, result: JSON.stringify(result) } };
    },
  });
