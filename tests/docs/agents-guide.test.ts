import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { npmAgents } from '../clients/npm-agents.ts';

const page = readFileSync(new URL('../../docs/guides/coding-agents.md', import.meta.url), 'utf8');
const target = {
  url: 'http://127.0.0.1:8787',
  key: '$HEADGATE_KEY',
  model: 'anthropic/claude-sonnet-4.5',
  home: '~',
};
const isOfGateway = (text: string) => [target.url, target.key, target.model].some((part) => text.includes(part));

it.each(
  npmAgents.map((agent) => [agent.title, agent] as const),
)('the set-up of %s is the tested one', (title, agent) => {
  const section = page.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? '';
  for (const [name, value] of Object.entries(agent.env(target)))
    if (isOfGateway(value) && name !== 'HEADGATE_KEY') expect(section).toContain(`export ${name}=${value}`);
  const blocks = [...section.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text]) => JSON.parse(text!) as object);
  for (const file of Object.values(agent.files(target)))
    if (isOfGateway(JSON.stringify(file))) expect(blocks).toContainEqual(file);
});
