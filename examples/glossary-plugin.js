/**
 * An example of a plugin: tells the model what the terms of a company mean. It adds the definitions of the terms that
 * the last message of the user contains, and only those.
 *
 *     plugins: { modules: [./examples/glossary-plugin.js] }
 *
 * A request turns it on, and a workspace can turn it on for all requests:
 *
 *     "plugins": [{ "id": "glossary", "terms": { "SKU": "the number of an article" } }]
 *
 * @type {import('headgate/plugin').Plugin}
 */
const glossary = {
  id: 'glossary',
  // JSON Schema of the fields besides `id` and `enabled`: a request with other values is a 400.
  settings: {
    type: 'object',
    properties: {
      terms: { type: 'object', additionalProperties: { type: 'string', maxLength: 2000 }, maxProperties: 500 },
    },
    required: ['terms'],
  },
  prepare(run, setting) {
    const terms = /** @type {Record<string, string>} */ (setting?.terms ?? {});
    const text = readLastMessage(run.input.read()).toLowerCase();
    const found = Object.entries(terms).filter(([term]) => text.includes(term.toLowerCase()));
    if (found.length === 0) return undefined; // nothing changes, so there is no stage either
    const definitions = found.map(([term, meaning]) => `- ${term}: ${meaning}`).join('\n');
    const { instructions } = run.request;
    run.request.instructions = `${instructions ? `${instructions}\n\n` : ''}Terms of this company:\n${definitions}`;
    run.stages.push({
      type: 'plugin',
      name: 'glossary',
      summary: 'Definitions of terms were added to the instructions.',
      data: { terms: found.map(([term]) => term) },
    });
    return undefined;
  },
};
export default glossary;

/**
 * @param {readonly import('headgate/plugin').InputItem[]} items
 * @returns {string}
 */
function readLastMessage(items) {
  const message = items.findLast((item) => 'role' in item && item.role === 'user');
  const content = message && 'content' in message ? message.content : undefined;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (part.type === 'input_text' && typeof part.text === 'string' ? part.text : ''))
    .join('\n');
}
