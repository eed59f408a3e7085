import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { dialectSchema as messages } from './anthropic-messages/dialect.ts';
import { dialectSchema as gemini } from './gemini/dialect.ts';
import { dialectSchema as chat } from './openai-chat/dialect.ts';
import { dialectSchema as responses } from './openai-responses/dialect.ts';
import { facets } from './rules/facets.ts';

const page = readFileSync(new URL('../../docs/guides/providers.md', import.meta.url), 'utf8');

it.each([
  ['openai-chat', chat],
  ['openai-responses', responses],
  ['anthropic-messages', messages],
  ['gemini', gemini],
])('the guide lists every dialect setting of %s with its default', (wire, schema) => {
  const section = page.split(`\n**\`${wire}\`**`)[1]!.split(/\n(?:\*\*|## )/)[0]!;
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  expect(rows).toEqual(
    Object.entries(schema.properties)
      .filter(([name]) => !(name in facets))
      .map(([name, setting]) => {
        const { default: value, description } = setting as { default?: unknown; description?: string };
        return `| \`${name}\` | \`${JSON.stringify(value)}\` | ${description} |`;
      }),
  );
});
