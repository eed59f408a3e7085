import anthropic from './anthropic.json' with { type: 'json' };
import mistral from './mistral.json' with { type: 'json' };
import openai from './openai.json' with { type: 'json' };

/** The files of rules, one for each maker of models or servers. Their order does not matter. */
export default [anthropic, mistral, openai];
