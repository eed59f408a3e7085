import { knownProviders } from '../../../src/config/known-providers.ts';
import {
  type RunningStrictProvider,
  startStrictProvider,
  type StrictProvider,
} from '../../../src/testing/strict/index.ts';
import { testGateway } from '../../../src/testing/test-gateway.ts';
import { entryOf, pathOf } from '../strict-lab.ts';
import { longNumber } from '../../../src/testing/strict/plan-output.ts';
import { readAnswer, writeNext } from './read-answer.ts';
import { png, type Talk } from './talk.ts';
import { writeTalk } from './write-talk.ts';

/** A gateway whose providers are the strict fakes. */
export interface Crossing {
  /**
   * Sends a conversation to a fake, and a second turn after its answer.
   *
   * @throws {Error} if the fake refuses a body, a text is lost, or the client sees a name that is not its own
   */
  cross(fake: StrictProvider, talk: Talk): Promise<void>;
  close(): Promise<void>;
}

/** Why the gateway may refuse a conversation before it asks the provider. docs/guides/testing.md lists them. */
const reasons = [/takes no images\./, /takes only texts and images/, /holds no content/];

/** Starts the fakes and the gateway. */
export async function openCrossing(fakes: readonly StrictProvider[]): Promise<Crossing> {
  const running = new Map<string, RunningStrictProvider>();
  for (const fake of fakes) running.set(fake.id, await startStrictProvider(fake));
  const gateway = await testGateway({ providers: fakes.map((fake) => entryOf(fake, running.get(fake.id)!.url)) });

  /** Returns the response and what the fake got, or undefined if the gateway refused the body. */
  async function send(fake: StrictProvider, { api, stream }: Talk, body: object) {
    const { upstream, refusals } = running.get(fake.id)!;
    const asked = upstream.requests.length;
    const refused = refusals.length;
    const model = `${fake.id}/${fake.model}`;
    const named = api === 'gemini' ? body : { model, ...body };
    const response = await gateway.post(pathOf(api, model, stream), named);
    const text = await response.text();
    const refusal = refusals[refused];
    if (refusal) throw new Error(`${fake.id} refused: ${JSON.stringify(refusal.refusal.body)}`);
    if (response.status === 400 && upstream.requests.length === asked && reasons.some((reason) => reason.test(text)))
      return undefined;
    if (response.status !== 200) throw new Error(`the gateway responded with ${response.status}: ${text}`);
    const sent = upstream.requests.at(-1)?.text ?? '';
    try {
      return { answer: readAnswer(api, text, stream), sent, text };
    } catch (error) {
      throw new Error(`the response is invalid: ${text}`, { cause: error });
    }
  }

  return {
    async cross(fake, given) {
      const talk = fetches.has(fake.provider ?? fake.id) ? withoutLinks(given) : given;
      const body = writeTalk(talk);
      const first = await send(fake, talk, body);
      if (!first) return;
      expectMarks(first.sent, marksOf(talk));
      if (JSON.stringify(body).includes(longNumber) && !first.sent.includes(longNumber))
        throw new Error(`a long number was rounded: ${first.sent}`);
      const { answer } = first;
      for (const { name, input } of answer.calls) {
        const tool = talk.tools.find((each) => each.name === name);
        if (!tool) throw new Error(`the client has no tool ${name}`);
        const own = propertiesOf(tool.schema);
        const other = Object.keys(input).find((key) => !own.includes(key));
        if (other !== undefined) throw new Error(`${other} is no property of ${name}`);
        if (Object.keys(input).length > 0 && !first.text.includes(longNumber))
          throw new Error(`a long number was rounded: ${first.text}`);
      }
      const list = talk.api === 'responses' ? 'input' : talk.api === 'gemini' ? 'contents' : 'messages';
      const next = writeNext(talk.api, answer, { result: 'Sunny markRx', question: 'And now? markQx' });
      const second = await send(fake, talk, { ...body, [list]: [...(body[list] as object[]), ...next] });
      if (!second) return;
      expectMarks(second.sent, [...marksOf(talk), 'markQx', ...(answer.calls.length > 0 ? ['markRx'] : [])]);
    },
    async close() {
      await gateway.close();
      await Promise.all([...running.values()].map((fake) => fake.close()));
    },
  };
}

/** Servers for which the gateway fetches images, or an operator sets `urls: fetch`. A test fetches none. */
const fetches = new Set([...knownProviders.filter(({ urls }) => urls === 'fetch').map(({ id }) => id), 'databricks']);
const withoutLinks = (talk: Talk): Talk =>
  JSON.parse(JSON.stringify(talk).replaceAll('https://example.com/image.png', `data:image/png;base64,${png}`)) as Talk;

/** The marks of the texts that must not be lost: all but those of reasoning. */
function marksOf({ entries }: Talk): string[] {
  const kept = entries.map((entry) => (entry.kind === 'assistant' ? { ...entry, thoughts: '' } : entry));
  return JSON.stringify(kept).match(/mark\d+x/g) ?? [];
}

/** Throws if a body lacks a mark, in its texts and its files. */
function expectMarks(sent: string, marks: readonly string[]): void {
  const files = [...sent.matchAll(/base64,([\w+/=]+)/g), ...sent.matchAll(/"data":"([\w+/=]+)"/g)];
  const readable = [sent, ...files.map(([, data]) => Buffer.from(data!, 'base64').toString('latin1'))].join(' ');
  const lost = marks.filter((mark) => !readable.includes(mark));
  if (lost.length > 0) throw new Error(`lost: ${lost.join(', ')} in ${sent}`);
}

/** The names of the properties of a schema and of the branches of its union. */
const propertiesOf = (schema: Record<string, unknown> = {}): string[] => [
  ...Object.keys((schema['properties'] ?? {}) as object),
  ...['anyOf', 'oneOf', 'allOf'].flatMap((name) =>
    ((schema[name] ?? []) as Record<string, unknown>[]).flatMap((branch) => propertiesOf(branch)),
  ),
];
