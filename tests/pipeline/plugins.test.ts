import { afterEach, describe, expect, it } from 'vitest';
import { Cancellation } from '../../src/domain/cancellation.ts';
import { GatewayError } from '../../src/domain/errors.ts';
import type { InputItem } from '../../src/domain/items.ts';
import type { PluginPart, RunPlugin } from '../../src/domain/plugin.ts';
import type { PluginSetting } from '../../src/domain/request.ts';
import type { Reviser } from '../../src/domain/reviser.ts';
import type { Run } from '../../src/pipeline/run/run.ts';
import { modes, openPipelineLab, type PipelineLab, serverToolsOf, wireNames } from './lab.ts';

let lab: PipelineLab;
afterEach(() => lab.close());

const open = async (servers: number, ...plugins: RunPlugin<Run>[]) => {
  lab = await openPipelineLab(servers, { plugins });
};
const plugin = (id: string, part: PluginPart<Run>): RunPlugin<Run> => ({ id, prepare: () => part });
const say = (content: string): InputItem[] => [{ type: 'message', role: 'user', content }];
const busy = { fail: { status: 503, message: 'Busy.' } };
/** The bodies that a server received. */
const sent = (at = 0): string[] => lab.upstreams[at]!.requests.map(({ text }) => text);

/** Appends a word to each text chunk. */
const suffix = (word: string): Reviser<Run> => ({
  open: (_run, out) => ({
    write: (chunks) =>
      out.write(chunks.map((chunk) => (chunk.type === 'text' ? { ...chunk, delta: `${chunk.delta}${word}` } : chunk))),
    abandon() {},
  }),
});

describe('a plugin', () => {
  it('acts only if the request names it without `enabled: false`', async () => {
    const settings: (PluginSetting | undefined)[] = [];
    const watch = (id: string): RunPlugin<Run> => ({ id, prepare: (_run, setting) => void settings.push(setting) });
    await open(1, watch('one'), watch('two'), watch('three'));
    for (const _ of [1, 2, 3]) lab.script('openai-chat', 0, { text: 'Hello.' });
    await lab.respond('openai-chat', 'buffered', {
      plugins: [{ id: 'three', depth: 2 }, { id: 'one', enabled: false }, { id: 'two' }],
    });
    expect(settings).toEqual([{ id: 'two' }, { id: 'three', depth: 2 }]);
    await lab.respond('openai-chat', 'buffered', { plugins: [] });
    await lab.respond('openai-chat', 'buffered', { plugins: undefined });
    expect(settings).toHaveLength(2);
  });

  it.each(
    wireNames.flatMap((wire) => modes.map((mode) => [wire, mode] as const)),
  )('changes the request of each attempt for its endpoint: %s, %s', async (wire, mode) => {
    await open(
      2,
      plugin('named', {
        async adapt(request, { provider }) {
          return { ...request, input: [...request.input, ...say(`for ${provider.name}`)] };
        },
      }),
    );
    lab.script(wire, 0, busy);
    lab.script(wire, 1, { text: 'Hello.' });
    const { response, run } = await lab.respond(wire, mode);

    expect(response).toMatchObject({ status: 'completed' });
    expect(sent(0)).toEqual([expect.stringContaining('for Server 0')]);
    expect(sent(1)).toEqual([expect.stringContaining('for Server 1')]);
    expect(sent(1)[0]).not.toContain('for Server 0');
    expect(run.input.read()).toHaveLength(1);
  });

  it('changes the request of each step, with the results of tools', async () => {
    const seen: number[] = [];
    const tools = serverToolsOf({
      run: ({ toolCalls }) => ({
        items: toolCalls.map(({ callId }) => ({ type: 'function_call_output', call_id: callId, output: 'found' })),
      }),
    });
    const count = plugin('count', {
      adapt(request) {
        seen.push(request.input.length);
        return request;
      },
    });
    lab = await openPipelineLab(1, { tools, plugins: [count] });
    lab.script('openai-chat', 0, { calls: [{ name: 'lookup', input: {} }] }, { text: 'Found.' });
    const { error } = await lab.respond('openai-chat', 'buffered', {
      tools: [{ type: 'function', name: 'lookup', parameters: {} }],
    });
    expect(error).toBeUndefined();
    expect(seen).toEqual([1, 3]);
  });

  it('may exclude an endpoint: the next one serves', async () => {
    await open(
      2,
      plugin('picky', {
        adapt(request, { provider }) {
          if (provider.id === 'server-0') throw new GatewayError('invalid_request', 'Not here.');
          return request;
        },
      }),
    );
    lab.script('openai-chat', 1, { text: 'Hello.' });
    const { response, run } = await lab.respond('openai-chat', 'buffered');
    expect(response).toMatchObject({ status: 'completed' });
    expect(run.steps[0]!.attempts.map(({ status }) => status)).toEqual([400, 200]);
    expect(sent(0)).toEqual([]);
  });

  it('may end the run for every endpoint', async () => {
    await open(
      2,
      plugin('strict', {
        adapt() {
          throw new GatewayError('permission_denied', 'Never.');
        },
      }),
    );
    const { error } = await lab.respond('openai-chat', 'buffered');
    expect(error).toMatchObject({ status: 403, message: 'Never.' });
    expect([...sent(0), ...sent(1)]).toEqual([]);
    expect(lab.entries).toMatchObject([{ outcome: 'failed' }]);
  });

  it('that throws anything else fails the run with an internal error', async () => {
    await open(1, {
      id: 'broken',
      prepare() {
        throw new TypeError('secret detail');
      },
    });
    const { error } = await lab.respond('openai-chat', 'buffered');
    expect(error).toMatchObject({ status: 500 });
    expect(error!.message).not.toContain('secret');
  });

  it('describes the failure of its run', async () => {
    const parsed = [{ type: 'file' }];
    await open(1, plugin('files', { describeFailure: () => ({ file_annotations: parsed }) }), plugin('other', {}));
    lab.script('openai-chat', 0, { fail: { status: 400, message: 'No.' } });
    const { error } = await lab.respond('openai-chat', 'buffered');
    expect(error).toMatchObject({ kind: 'upstream_rejected', metadata: { file_annotations: parsed } });
  });

  it('that removes and adds items does not change the paths of the others', async () => {
    const odd = (text: string) =>
      ({ type: 'message', role: 'user', content: [{ type: 'input_text', text, odd: 1 } as object] }) as InputItem;
    const input = [...say('a'), ...say('b'), odd('c'), odd('d')];
    await open(
      1,
      plugin('shorter', { adapt: (request) => ({ ...request, input: [...say('short'), ...request.input.slice(2)] }) }),
    );
    lab.script('openai-chat', 0, { text: 'Hello.' });
    const { run } = await lab.respond('openai-chat', 'buffered', { input, plugins: [{ id: 'shorter' }] });
    expect(run.steps[0]?.committed?.droppedFields).toEqual(['input[2].content[0].odd', 'input[3].content[0].odd']);
  });

  it.each(['prepare', 'adapt'] as const)('that ignores the cancellation in `%s` does not keep the run', async (at) => {
    const cancellation = new Cancellation();
    const left = new GatewayError('client_closed', 'The client disconnected.');
    const never = () => {
      setImmediate(() => cancellation.cancel(left));
      return new Promise<never>(() => {});
    };
    await open(1, at === 'prepare' ? { id: 'stuck', prepare: never } : plugin('stuck', { adapt: never }));
    const { error } = await lab.respond('openai-chat', 'streamed', {}, cancellation);
    expect(error).toBe(left);
    expect(sent()).toEqual([]);
    expect(lab.entries).toMatchObject([{ outcome: 'cancelled' }]);
  });
});

describe('a plugin that endpoints of the plan need', () => {
  /** Plans as if the endpoints needed some plugins. */
  const needing = (ids: string[]): void => {
    lab.pipeline.reserve = (_run, plan) => {
      if (plan) plan.plugins = ids;
      return undefined;
    };
  };

  it.each(modes)('joins the run in its place in the order, %s', async (mode) => {
    const settings: unknown[] = [];
    const record = (id: string): RunPlugin<Run> => ({
      id,
      prepare(_run, setting) {
        settings.push([id, setting?.id]);
        return {
          ...suffix(` ${id}`),
          adapt: (request) => ({ ...request, input: [...request.input, ...say(id)] }),
        };
      },
    });
    await open(1, record('first'), record('named'), record('off'), record('last'));
    needing(['last', 'first', 'named', 'off']);
    lab.script('openai-chat', 0, { text: 'Hello' });
    const { response } = await lab.respond('openai-chat', mode, {
      plugins: [{ id: 'named' }, { id: 'off', enabled: false }],
    });
    expect(settings).toEqual([
      ['named', 'named'],
      ['first', undefined],
      ['last', undefined],
    ]);
    expect(response).toMatchObject({ output: [{ content: [{ text: 'Hello first named last' }] }] });
    expect(sent()[0]).toMatch(/first.*named.*last/);
  });

  it('may reject the run before anything is sent', async () => {
    await open(1, {
      id: 'strict',
      async prepare() {
        throw new GatewayError('permission_denied', 'Never.');
      },
    });
    needing(['strict']);
    const { error } = await lab.respond('openai-chat', 'buffered', { plugins: undefined });
    expect(error).toMatchObject({ status: 403 });
    expect(sent()).toEqual([]);
  });
});
