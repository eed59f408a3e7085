import { Type } from 'typebox';
import { anyObject } from '../../schema/shapes.ts';
import { innerModelParameters } from '../inner-model.ts';

const closed = { additionalProperties: false };

/** `parameters` of `router:subagent`, except `tools`. */
export const subagentFields = {
  ...innerModelParameters,
  inherit_functions: Type.Optional(Type.Boolean()),
  inherited_function_names: Type.Optional(Type.Array(Type.String({ pattern: '\\S', says: 'must not be blank' }))),
  max_tool_calls: Type.Optional(Type.Integer({ minimum: 1, maximum: 25 })),
};

/** `parameters` of `router:subagent`. `check-inner-tools.ts` checks the tools. */
export const subagentParameters = Type.Object(
  {
    ...subagentFields,
    tools: Type.Optional(Type.Array(Type.Object({ type: Type.String(), parameters: Type.Optional(anyObject()) }))),
  },
  closed,
);

/** The arguments of its calls. */
export const subagentArguments = Type.Object(
  {
    task_name: Type.String({ description: 'A short name of the task.' }),
    task_description: Type.String({
      description: 'The task, with everything that the subagent needs to know. It sees nothing else.',
    }),
  },
  closed,
);
