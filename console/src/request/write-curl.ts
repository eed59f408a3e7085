import { type Generation, tagsOf } from '../api/types.ts';

type Sent = Pick<Generation, 'requested_model' | 'model' | 'streamed' | 'session_id' | 'tags'>;

/**
 * Writes a command that sends a request like this one.
 *
 * @param input what was kept: `{ instructions?, items, tools? }`. Without it, the command has a placeholder
 * @param api the address of the API: `https://host/api/v1`
 */
export function writeCurl(entry: Sent, input: unknown, api: URL): string {
  const { instructions, items, tools } = (input ?? {}) as { instructions?: unknown; items?: unknown; tools?: unknown };
  const body = {
    model: entry.requested_model ?? entry.model ?? 'MODEL',
    instructions,
    input: items ?? 'The input was not kept. Write it here.',
    tools,
    stream: entry.streamed || undefined,
    session_id: entry.session_id ?? undefined,
  };
  const tags = tagsOf(entry).map(([name, value]) => `${name}=${value}`);
  return [
    `curl ${quote(`${api.href.replace(/\/$/, '')}/responses`)}`,
    `  -H "Authorization: Bearer $HEADGATE_KEY"`,
    `  -H 'Content-Type: application/json'`,
    ...(tags.length > 0 ? [`  -H ${quote(`X-Headgate-Tags: ${tags.join(', ')}`)}`] : []),
    `  -d ${quote(JSON.stringify(body, null, 2))}`,
  ].join(' \\\n');
}

/** Quotes a text for a POSIX shell. */
const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
