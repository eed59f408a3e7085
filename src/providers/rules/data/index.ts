import anthropic from './anthropic.json' with { type: 'json' };
import gemini from './gemini.json' with { type: 'json' };
import hosted from './hosted.json' with { type: 'json' };
import local from './local.json' with { type: 'json' };
import mistral from './mistral.json' with { type: 'json' };
import openai from './openai.json' with { type: 'json' };
import servers from './servers.json' with { type: 'json' };

/** The files of rules. Of two sets that are equally specific, the later one overrides the earlier one. */
export default [openai, anthropic, gemini, servers, hosted, local, mistral];
