import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Caller } from '../domain/caller.ts';
import { GatewayError } from '../domain/errors.ts';
import { type CallerRateLimits, noRateLimits, type RateLimits } from '../domain/rate-limits.ts';
import { MemoryCounters } from '../platform/counters/memory/memory-counters.ts';
import { type LimitSettings, RateLimiter, type Ticket } from './rate-limits.ts';

const none: RateLimits = noRateLimits;

interface Asked {
  key?: string;
  workspace?: string;
  member?: string;
  rateLimits?: CallerRateLimits;
  model?: string;
  models?: string[];
  isConcurrent?: boolean;
  tokens?: number;
}

function limit(settings: Partial<LimitSettings>) {
  let now = 1_800_000_000_000;
  const hits: string[] = [];
  let requests = 0;
  const limits = new RateLimiter({
    counters: new MemoryCounters(() => now),
    settings: () => ({ ...none, member: none, workspace: none, models: [], ...settings }),
    findRateLimits: () => undefined,
    requestMs: () => 600_000,
    onHit: (scope, what) => hits.push(`${scope} ${what}`),
    now: () => now,
  });
  const admit = ({
    key = 'k',
    workspace = 'w',
    model = 'acme/m',
    isConcurrent = true,
    tokens = 0,
    ...more
  }: Asked = {}) => {
    const { member: memberId = null, rateLimits, ...named } = more;
    const caller = { keyHash: key, keyName: `named ${key}`, workspaceId: workspace, memberId, rateLimits } as Caller;
    const demand = { ...(named.models ? named : { model }), isConcurrent, estimateTokens: () => tokens };
    return limits.admit(caller, demand, `gen-${++requests}`) as Ticket | undefined; // from memory: at once
  };
  const pass = (ms: number) => {
    now += ms;
  };
  return { admit, pass, hits, refusal: (ask: Parameters<typeof admit>[0] = {}) => refusalOf(() => admit(ask)) };
}

function refusalOf(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error('It was let in.');
}

describe('requests per minute', () => {
  it('are counted over the last 60 seconds', () => {
    const { admit, pass, refusal } = limit({ requests_per_minute: 2 });
    admit();
    pass(30_000);
    admit();
    expect(refusal()).toMatchObject({
      kind: 'rate_limited',
      message: 'The key "named k" is limited to 2 requests a minute (limits.requests_per_minute); try again in 30 s.',
      retryAfterSeconds: 30,
      rateLimit: { limit: 2, remaining: 0 },
    });
    pass(30_000);
    admit();
    expect(refusal().retryAfterSeconds).toBe(30);
  });

  it('do not count rejected requests', () => {
    const { admit, pass, refusal } = limit({ requests_per_minute: 1 });
    admit();
    for (let count = 0; count < 59; count++) {
      pass(1000);
      refusal();
    }
    pass(1000);
    admit();
  });

  it('are those of each key, of each workspace, and of a model', () => {
    const settings = {
      requests_per_minute: 2,
      workspace: { ...none, requests_per_minute: 3 },
      models: [{ ...none, model: 'acme/*', requests_per_minute: 4 }],
    };
    const { admit, hits, refusal } = limit(settings);
    admit();
    admit();
    expect(refusal().message).toContain('The key "named k"');
    admit({ key: 'other' });
    expect(refusal({ key: 'third' }).message).toContain('This workspace');
    admit({ key: 'fourth', workspace: 'v' });
    expect(refusal({ key: 'fifth', workspace: 'u' }).message).toContain('The model "acme/*" is limited to 4');
    admit({ key: 'fifth', workspace: 'u', model: 'other/m' });
    expect(hits).toEqual(['key requests_per_minute', 'workspace requests_per_minute', 'model requests_per_minute']);
  });
});

describe('limits that are set for a key, a member or a workspace', () => {
  const only = (requests_per_minute: number) => ({ ...none, requests_per_minute });

  it('hold for all requests of their holder, the narrowest rejects first', () => {
    const { admit, hits, refusal } = limit({});
    const rateLimits = { key: only(1), member: only(2), workspace: only(3) };
    const of = (key: string, member: string) => ({ key, member, rateLimits });
    admit(of('k', 'ada'));
    expect(refusal(of('k', 'ada')).message).toContain(
      'The key "named k" is limited to 1 request a minute (requests_per',
    );
    admit(of('l', 'ada'));
    expect(refusal(of('m', 'ada')).message).toContain('The member "ada" is limited to 2');
    admit(of('m', 'ben'));
    expect(refusal(of('n', 'ben')).message).toContain('(requests_per_minute of the workspace); try again');
    expect(hits).toEqual(['key', 'member', 'workspace'].map((kind) => `${kind} requests_per_minute`));
  });

  it('hold beside those of the configuration: the stricter one of each, with the same counts', () => {
    const { admit, refusal } = limit({ requests_per_minute: 2 });
    admit();
    admit({ rateLimits: { key: only(5) } });
    expect(refusal({ rateLimits: { key: only(5) } }).message).toContain('2 requests a minute (limits.requests_per');
    expect(refusal({ rateLimits: { key: only(1) } }).message).toContain('1 request a minute (requests_per_minute of');
    expect(refusal({ rateLimits: { key: { ...none, tokens_per_minute: 5 } } }).message).toContain('2 requests');
  });

  it('do not count a key without a member for a member', () => {
    const { admit } = limit({ member: only(1) });
    expect(admit()).toBeUndefined();
    admit({ member: 'ada' });
  });
});

describe('tokens per minute', () => {
  it('reject the request after the one that exceeded them', () => {
    const { admit, pass, refusal } = limit({ tokens_per_minute: 100 });
    admit()!.end(99, false);
    const ticket = admit()!;
    pass(10_000);
    ticket.end(50, false);
    expect(refusal()).toMatchObject({ retryAfterSeconds: 50, rateLimit: { limit: 100 } });
    pass(50_000);
    admit();
  });

  it('are reserved for requests in flight, for a minute at most', () => {
    const { admit, pass, refusal } = limit({ tokens_per_minute: 100 });
    admit({ tokens: 60 });
    const { message, ...error } = refusal({ tokens: 60 });
    expect(message).toContain(
      '(limits.tokens_per_minute), and requests in flight have reserved the rest; try again in 5 s.',
    );
    expect(error).toMatchObject({ rateLimit: { unit: 'tokens', limit: 100, remaining: 40 } });
    const second = admit({ tokens: 40 })!;
    second.end(0, true);
    admit({ tokens: 40 });
    pass(60_000);
    admit({ tokens: 100 });
  });

  it('are reserved up to the strictest limit of the request', () => {
    const { admit, refusal } = limit({ tokens_per_minute: 100, workspace: { ...none, tokens_per_minute: 1000 } });
    admit({ key: 'greedy', tokens: 1_000_000 });
    expect(refusal({ key: 'greedy', tokens: 1 }).message).toContain('named greedy');
    admit({ key: 'other', tokens: 100 });
  });
});

describe('concurrent requests', () => {
  it('are available again as soon as one ends, however it ended', () => {
    const { admit, refusal } = limit({ concurrent_requests: 1 });
    const first = admit()!;
    expect(refusal().message).toContain('1 request at a time');
    admit({ isConcurrent: false }); // one that generates nothing
    first.end(0, false);
    admit();
  });
});

describe('what is left', () => {
  it('is that of the strictest limit of each unit, with the request itself', () => {
    const { admit } = limit({
      requests_per_minute: 10,
      workspace: { ...none, requests_per_minute: 2, tokens_per_minute: 1000 },
      models: [{ ...none, model: 'acme/*', tokens_per_minute: 1000 }],
    });
    const resetAtMs = 1_800_000_060_000;
    expect(admit({ tokens: 300 })!.rests).toEqual([
      { unit: 'requests', limit: 2, remaining: 1, resetAtMs },
      { unit: 'tokens', limit: 1000, remaining: 700, resetAtMs },
    ]);
    expect(admit({ workspace: 'v', tokens: 600 })!.rests).toMatchObject([
      { remaining: 1 },
      { limit: 1000, remaining: 100 },
    ]);
  });

  it('is nothing without limits that count in a minute', () => {
    expect(limit({ concurrent_requests: 5 }).admit()!.rests).toEqual([]);
  });
});

describe('limits of models that a request reaches later', () => {
  const models = (limits: object) => ['acme/a', 'acme/b'].map((model) => ({ ...none, ...limits, model }));
  const of = (...names: string[]) => ({ models: names });

  it('count once, each before its attempt', () => {
    const { admit, refusal, hits } = limit({ models: models({ requests_per_minute: 2 }) });
    const ticket = admit(of('acme/a', 'acme/b', 'other/m'))!;
    for (const model of ['acme/b', 'other/m', 'acme/b', 'acme/b:nitro']) expect(ticket.enter(model)).toBeUndefined();
    admit({ model: 'acme/b' });
    expect(refusal({ model: 'acme/b' }).message).toContain('The model "acme/b" is limited to 2');
    expect(admit(of('acme/a', 'acme/b'))!.enter('acme/b')).toMatchObject({
      kind: 'rate_limited',
      rateLimit: { limit: 2 },
    });
    expect(hits).toEqual(['model requests_per_minute', 'model requests_per_minute']);
    admit({ model: 'acme/a' });
  });

  it('do not count again what was counted at admission', () => {
    const { admit, refusal } = limit({ models: models({ requests_per_minute: 2 }) });
    expect(admit({ model: 'acme/a' })!.enter('acme/a')).toBeUndefined();
    expect(admit({ model: 'acme/a' })!.enter('acme/a')).toBeUndefined();
    refusal({ model: 'acme/a' });
  });

  it('count tokens for the last model, and end the places of all', () => {
    const { admit, refusal } = limit({ models: models({ tokens_per_minute: 5, concurrent_requests: 1 }) });
    const ticket = admit(of('acme/a', 'acme/b'))!;
    for (const model of ['acme/a', 'acme/b']) expect(ticket.enter(model)).toBeUndefined();
    expect(refusal({ model: 'acme/a' }).message).toContain('1 request at a time');
    ticket.end(5, false);
    admit({ model: 'acme/a' });
    expect(refusal({ model: 'acme/b' }).message).toContain('5 tokens a minute');
  });

  it('count a request that serves another one for its model, and its tokens for the caller, too', () => {
    const { admit, refusal } = limit({
      tokens_per_minute: 100,
      models: models({ requests_per_minute: 1, tokens_per_minute: 60 }),
    });
    const ticket = admit({ model: 'acme/a' })!;
    const inner = ticket.openInner('gen-inner', () => 0);
    expect(inner.enter('acme/b')).toBeUndefined();
    expect(ticket.openInner('gen-second', () => 0).enter('acme/b')).toMatchObject({ kind: 'rate_limited' });
    inner.end(50, false);
    ticket.end(50, false);
    expect(refusal({ key: 'other', model: 'acme/b' }).message).toContain('The model "acme/b" is limited to 1 request');
    expect(refusal({ model: 'other/m' }).message).toContain('100 tokens a minute');
  });

  it('count no tokens of such a request for the model of the other', () => {
    const { admit, refusal } = limit({ models: models({ tokens_per_minute: 60 }) });
    const ticket = admit({ model: 'acme/a' })!;
    const inner = ticket.openInner('gen-inner', () => 0);
    inner.enter('acme/b');
    inner.end(60, false);
    ticket.end(59, false);
    admit({ model: 'acme/a' });
    refusal({ model: 'acme/b' });
  });

  it('take back a rejected request', () => {
    const { admit } = limit({ models: models({ requests_per_minute: 1 }) });
    const ticket = admit(of('acme/a', 'acme/b'))!;
    ticket.enter('acme/a');
    ticket.end(0, true);
    admit({ model: 'acme/a' });
  });
});

it('without limits there is nothing to end', () => {
  expect(limit({}).admit()).toBeUndefined();
});

it('never admits more than the limit within any 60 seconds', () => {
  const steps = fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 60 });
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 5 }), (waits, max) => {
      const { admit, pass } = limit({ requests_per_minute: max });
      const admitted: number[] = [];
      let at = 0;
      for (const wait of waits) {
        pass(wait);
        at += wait;
        try {
          admit();
          admitted.push(at);
        } catch {}
      }
      for (const from of admitted) {
        const within = admitted.filter((each) => each >= from && each < from + 59_000);
        expect(within.length).toBeLessThanOrEqual(max);
      }
    }),
  );
});
