/*
 * A server tool of your own. Add it to the configuration, and restart:
 *
 *   tools:
 *     modules: [./examples/dice-tool.js]
 *
 * Requests then use it as {"type": "router:roll_dice"}, and the model sees the function router_roll_dice.
 */

/** @type {import('headgate/tool').ToolDefinition} */
export default {
  type: 'router:roll_dice',
  description: 'Rolls dice and returns the numbers. Use it for games, and not for arithmetic.',

  // The parameters in a request: {"type": "router:roll_dice", "parameters": {"sides": 20}}
  parameters: {
    type: 'object',
    properties: { sides: { type: 'integer', minimum: 2, maximum: 1000 } },
    additionalProperties: false,
  },

  // The arguments of each call. The gateway checks them and shows this schema to the model.
  arguments: {
    type: 'object',
    properties: { count: { type: 'integer', minimum: 1, maximum: 100, description: 'Number of dice.' } },
    required: ['count'],
    additionalProperties: false,
  },

  execute({ count }, { sides = 6 }, { signal, fail }) {
    if (count * sides > 10_000) fail('That is too many dice.'); // the model reads it and continues
    signal.throwIfAborted(); // pass the signal to everything that waits
    return { result: { rolls: Array.from({ length: count }, () => 1 + Math.floor(Math.random() * sides)) } };
  },
};
