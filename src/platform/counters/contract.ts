import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { noRateLimits, type RateLimits } from '../../domain/rate-limits.ts';
import type { Admission, Admitted, Claim, Counters, RateRefusal, Reservation, SharedCounters } from './counters.ts';

/** Creates an admission with one scope, whose name is unique unless it is given. */
const createAdmission = (
  limits: Partial<RateLimits>,
  { scope = randomUUID(), ...more }: Partial<Admission> & { scope?: string } = {},
): Admission => ({
  id: randomUUID(),
  scopes: [{ id: scope, limits: { ...noRateLimits, ...limits } }],
  isConcurrent: false,
  tokens: 0,
  leaseMs: 60_000,
  ...more,
});

const isAdmitted = (answer: unknown): boolean => typeof answer === 'object' && answer !== null && 'atMs' in answer;

const day = 86_400_000;
/** Starts of the windows of a Wednesday: lifetime, month, week, day. */
const startsMs = [0, 20_000 * day - 13 * day, 20_000 * day - 2 * day, 20_000 * day];

const createClaim = (account: string, nanoUsd: bigint, limitNanoUsd?: bigint, more: Partial<Claim> = {}): Claim => ({
  account,
  nanoUsd,
  startsMs,
  recordedNanoUsd: [0n, 0n, 0n, 0n],
  readAtMs: 0,
  isCurrent: true,
  limits: limitNanoUsd === undefined ? [] : [{ window: 'daily', nanoUsd: limitNanoUsd, isExhaustedWhenReached: true }],
  ...more,
});
const createReservation = (...claims: Claim[]): Reservation => ({ id: randomUUID(), claims, reservationMs: 60_000 });
const settlement = (...costsNanoUsd: bigint[]) => ({ atMs: startsMs[3]! + 1000, costsNanoUsd });

/**
 * Tests the contract of all counters. Each test creates unique names.
 *
 * @param open opens the same counts at each call, as another process does
 */
export function testCounters(name: string, open: () => Promise<Counters | SharedCounters>): void {
  describe(`counters: ${name}`, () => {
    let counters: Counters | SharedCounters;
    let other: Counters | SharedCounters;
    beforeAll(async () => {
      [counters, other] = await Promise.all([open(), open()]);
      // A client connects in the background.
      await vi.waitFor(() => Promise.all([counters.ping(), other.ping()]));
    });
    afterAll(() => Promise.all([counters.close(), other.close()]));

    /** @returns how many of the calls were admitted or reserved */
    const count = async (answers: unknown[]) =>
      (await Promise.all(answers)).filter((answer) => answer === undefined || isAdmitted(answer)).length;

    describe('rates', () => {
      it('let in as many requests as the limit says, whoever asks, and tell when the first of them is forgotten', async () => {
        const scope = randomUUID();
        const ask = (each: typeof counters) => each.admit(createAdmission({ requests_per_minute: 10 }, { scope }));
        expect(await count(Array.from({ length: 40 }, (_, at) => ask(at % 2 === 0 ? counters : other)))).toBe(10);
        const refusal = (await ask(other)) as RateRefusal;
        expect(refusal).toMatchObject({ scope: 0, limit: 'requests_per_minute' });
        expect(refusal.freeInMs).toBeGreaterThan(50_000);
        expect(refusal.freeInMs).toBeLessThanOrEqual(60_000);
      });

      it('count a request in all of its scopes, or in none', async () => {
        const [wide, narrow] = [randomUUID(), randomUUID()];
        const admission = (narrowLimit: number): Admission => ({
          ...createAdmission({}),
          scopes: [
            { id: wide, limits: { ...noRateLimits, requests_per_minute: 3 } },
            { id: narrow, limits: { ...noRateLimits, requests_per_minute: narrowLimit } },
          ],
        });
        expect(isAdmitted(await counters.admit(admission(1)))).toBe(true);
        for (let at = 0; at < 5; at++) expect(await counters.admit(admission(1))).toMatchObject({ scope: 1 });
        expect(await count([counters.admit(admission(9)), counters.admit(admission(9))])).toBe(2);
        expect(await counters.admit(admission(9))).toMatchObject({ scope: 0 });
      });

      it('count tokens when a request is over', async () => {
        const scope = randomUUID();
        const admission = () => createAdmission({ tokens_per_minute: 100 }, { scope });
        const first = admission();
        expect(await counters.admit(first)).toMatchObject({ counts: [{ requests: 1, tokens: 0 }] });
        await counters.leave(first, { tokens: 99, admittedAtMs: undefined });
        const second = admission();
        expect(await other.admit(second)).toMatchObject({ counts: [{ requests: 2, tokens: 99 }] });
        await other.leave(second, { tokens: 7, admittedAtMs: undefined });
        expect(await counters.admit(admission())).toMatchObject({
          scope: 0,
          limit: 'tokens_per_minute',
          remaining: 0,
          isReserved: false,
        });
      });

      it('reserve the tokens of requests in flight, and replace them with those that were used', async () => {
        const scope = randomUUID();
        const admission = (tokens: number) => createAdmission({ tokens_per_minute: 100 }, { scope, tokens });
        const first = admission(60);
        const { atMs } = (await counters.admit(first)) as Admitted;
        expect(await count(Array.from({ length: 16 }, () => other.admit(admission(60))))).toBe(0);
        const second = admission(40);
        const admitted = (await other.admit(second)) as Admitted;
        expect(admitted.counts).toEqual([{ requests: 2, tokens: 100 }]);
        const refused = { limit: 'tokens_per_minute', remaining: 0, isReserved: true, freeInMs: 5000 };
        expect(await counters.admit(admission(1))).toMatchObject(refused);
        await other.leave(first, { tokens: 10, admittedAtMs: atMs });
        expect(await counters.admit(admission(51))).toMatchObject({ ...refused, remaining: 50 });
        expect(await counters.admit(admission(50))).toMatchObject({ counts: [{ requests: 3, tokens: 100 }] });
        await other.leave(second, { tokens: undefined, admittedAtMs: admitted.atMs }); // its process was killed
        expect(await counters.admit(admission(1))).toMatchObject(refused);
      });

      it('admit a request that is larger than the limit if no other one has reserved tokens', async () => {
        const scope = randomUUID();
        const admission = () => createAdmission({ tokens_per_minute: 100 }, { scope, tokens: 5000 });
        const first = admission();
        const admitted = (await counters.admit(first)) as Admitted;
        expect(admitted.counts).toEqual([{ requests: 1, tokens: 5000 }]);
        expect(await count([other.admit(admission()), counters.admit(admission())])).toBe(0);
        await other.leave(first, { tokens: 30, admittedAtMs: admitted.atMs });
        expect(await count([other.admit(admission()), counters.admit(admission())])).toBe(1);
      });

      it('take back a request that was refused otherwise', async () => {
        const scope = randomUUID();
        const admission = () => createAdmission({ requests_per_minute: 1 }, { scope });
        const first = admission();
        expect(isAdmitted(await counters.admit(first))).toBe(true);
        const rejected = { tokens: 0, admittedAtMs: undefined, isTakenBack: true };
        await other.leave(first, rejected);
        // This scope has no request to take back.
        await other.leave(createAdmission({ requests_per_minute: 1 }), rejected);
        expect(isAdmitted(await other.admit(admission()))).toBe(true);
        expect(await counters.admit(admission())).toMatchObject({ limit: 'requests_per_minute' });
      });

      it('count concurrent requests until they end, and not those that generate nothing', async () => {
        const scope = randomUUID();
        const admission = (isConcurrent = true) => createAdmission({ concurrent_requests: 2 }, { scope, isConcurrent });
        const first = admission();
        expect(await count([counters.admit(first), other.admit(admission()), counters.admit(admission())])).toBe(2);
        expect(isAdmitted(await counters.admit(admission(false)))).toBe(true);
        expect(await other.admit(admission())).toMatchObject({ limit: 'concurrent_requests' });
        for (let time = 0; time < 2; time++) await counters.leave(first, { tokens: 0, admittedAtMs: undefined });
        expect(await count([other.admit(admission()), counters.admit(admission())])).toBe(1);
      });

      it('forget a request that was never ended', async () => {
        const scope = randomUUID();
        const admission = () => createAdmission({ concurrent_requests: 1 }, { scope, isConcurrent: true, leaseMs: 50 });
        expect(isAdmitted(await counters.admit(admission()))).toBe(true);
        await expect.poll(async () => isAdmitted(await other.admit(admission()))).toBe(true);
      });
    });

    describe('accounts', () => {
      it('hold as much as the limit says, however many ask at once from wherever', async () => {
        const account = randomUUID();
        const ask = (each: typeof counters) => each.reserve(createReservation(createClaim(account, 10n, 100n)));
        expect(await count(Array.from({ length: 200 }, (_, at) => ask(at % 2 === 0 ? counters : other)))).toBe(10);
        expect(await counters.reserve(createReservation(createClaim(account, 1n, 100n)))).toEqual({
          claim: 0,
          limit: 0,
          spentNanoUsd: 0n,
          reservedNanoUsd: 100n,
        });
      });

      it('hold in all accounts, or in none', async () => {
        const [wide, narrow] = [randomUUID(), randomUUID()];
        const ask = (limit: bigint) =>
          counters.reserve(createReservation(createClaim(wide, 40n, 100n), createClaim(narrow, 40n, limit)));
        expect(await ask(50n)).toBeUndefined();
        expect(await ask(50n)).toMatchObject({ claim: 1, reservedNanoUsd: 40n });
        expect(await ask(80n)).toBeUndefined();
        expect(await ask(200n)).toMatchObject({ claim: 0, reservedNanoUsd: 80n });
      });

      it('turn what is held into what was spent, once', async () => {
        const account = randomUUID();
        const first = createReservation(createClaim(account, 60n, 100n));
        expect(await counters.reserve(first)).toBeUndefined();
        expect(await other.reserve(createReservation(createClaim(account, 60n, 100n)))).toBeDefined();
        await counters.settle(first, settlement(30n));
        await counters.settle(first, settlement(30n));
        const second = createReservation(createClaim(account, 60n, 100n));
        expect(await other.reserve(second)).toBeUndefined();
        await other.settle(second, settlement(70n)); // it cost more than was reserved
        expect(await counters.reserve(createReservation(createClaim(account, 0n, 100n)))).toEqual({
          claim: 0,
          limit: 0,
          spentNanoUsd: 100n,
          reservedNanoUsd: 0n,
        });
      });

      it('hold a reservation once, though they are told of it again', async () => {
        const account = randomUUID();
        const told = createReservation(createClaim(account, 40n));
        expect(await counters.reserve(told)).toBeUndefined();
        // As after a lost response.
        expect(await count([counters.reserve(told), other.reserve(told), other.reserve(told)])).toBe(3);
        const ask = () => counters.reserve(createReservation(createClaim(account, 61n, 100n)));
        expect(await ask()).toMatchObject({ spentNanoUsd: 0n, reservedNanoUsd: 40n });
        await other.settle(told, settlement(39n));
        expect(await ask()).toBeUndefined();
        expect(await ask()).toMatchObject({ spentNanoUsd: 39n, reservedNanoUsd: 61n });
      });

      it('never lose what is settled while others ask', async () => {
        const account = randomUUID();
        const held = Array.from({ length: 10 }, () => createReservation(createClaim(account, 10n, 100n)));
        expect(await count(held.map((each) => counters.reserve(each)))).toBe(10);
        const ask = (each: typeof counters) => each.reserve(createReservation(createClaim(account, 10n, 100n)));
        const all = held.flatMap((each, at) => [
          ask(counters),
          ask(other),
          counters.settle(each, settlement(10n)),
          ask(at % 2 === 0 ? counters : other),
        ]);
        const answers = (await Promise.all(all)).filter((_, at) => at % 4 !== 2);
        expect(await count(answers)).toBe(0);
      });

      it('hold nothing, and settle it', async () => {
        const account = randomUUID();
        const free = createReservation(createClaim(account, 0n, 5n));
        expect(await counters.reserve(free)).toBeUndefined();
        await counters.settle(free, settlement(5n));
        expect(await counters.reserve(createReservation(createClaim(account, 0n, 5n)))).toMatchObject({
          spentNanoUsd: 5n,
        });
      });

      it('take the ledger’s sum where it is the greater one', async () => {
        const account = randomUUID();
        const ask = (booked: bigint, nanoUsd = 1n) =>
          counters.reserve(
            createReservation(
              createClaim(account, nanoUsd, 100n, { recordedNanoUsd: [booked, booked, booked, booked] }),
            ),
          );
        expect(await ask(90n, 5n)).toBeUndefined();
        expect(await ask(20n, 6n)).toMatchObject({ spentNanoUsd: 90n, reservedNanoUsd: 5n });
        expect(await ask(95n)).toMatchObject({ spentNanoUsd: 95n, reservedNanoUsd: 5n });
      });

      it('begin a window anew, and book by the time at which a request began', async () => {
        const account = randomUUID();
        const nextDay = startsMs.with(3, startsMs[3]! + day);
        const first = createReservation(createClaim(account, 50n, 100n));
        const late = createReservation(createClaim(account, 50n, 100n));
        expect(await count([counters.reserve(first), counters.reserve(late)])).toBe(2);
        await counters.settle(first, settlement(50n));
        const claim = (limit: bigint, window: 'daily' | 'monthly' = 'daily') =>
          createClaim(account, 10n, undefined, {
            startsMs: nextDay,
            limits: [{ window, nanoUsd: limit, isExhaustedWhenReached: true }],
          });
        expect(await counters.reserve(createReservation(claim(59n)))).toMatchObject({
          spentNanoUsd: 0n,
          reservedNanoUsd: 50n,
        });
        await counters.settle(late, settlement(50n)); // the request started the day before
        expect(await counters.reserve(createReservation(claim(9n)))).toMatchObject({
          spentNanoUsd: 0n,
          reservedNanoUsd: 0n,
        });
        expect(await counters.reserve(createReservation(claim(100n, 'monthly')))).toMatchObject({ spentNanoUsd: 100n });
        // A host whose clock is behind does not restore the window of the day before.
        expect(await other.reserve(createReservation(createClaim(account, 100n, 100n)))).toBeUndefined();
      });

      it('go back to a window that is open now from one that lies ahead: a clock was set back', async () => {
        const account = randomUUID();
        const ahead = startsMs.with(3, (Math.floor(Date.now() / day) + 2) * day);
        const early = createReservation(createClaim(account, 10n, 100n, { startsMs: ahead }));
        expect(await counters.reserve(early)).toBeUndefined();
        await counters.settle(early, settlement(10n));
        const claim = (nanoUsd: bigint) =>
          createClaim(account, nanoUsd, 100n, { recordedNanoUsd: [95n, 95n, 95n, 95n] });
        expect(await other.reserve(createReservation(claim(6n)))).toMatchObject({ spentNanoUsd: 95n });
        const fits = createReservation(claim(5n));
        expect(await other.reserve(fits)).toBeUndefined();
        await counters.settle(fits, settlement(5n));
        expect(await counters.reserve(createReservation(claim(0n)))).toMatchObject({
          spentNanoUsd: 100n,
          reservedNanoUsd: 0n,
        });
      });

      it('name the broadest limit of those that are in the way', async () => {
        const limits = (['daily', 'lifetime', 'weekly', 'monthly'] as const).map((window) => ({
          window,
          nanoUsd: 5n,
          isExhaustedWhenReached: true,
        }));
        const claim = createClaim(randomUUID(), 6n, undefined, { limits });
        expect(await counters.reserve(createReservation(claim))).toMatchObject({ limit: 1 });
      });

      it('let what costs nothing pass at a limit that may be reached, and not beyond it', async () => {
        const account = randomUUID();
        const claim = (nanoUsd: bigint, booked: bigint) =>
          createClaim(account, nanoUsd, undefined, {
            recordedNanoUsd: [booked, 0n, 0n, 0n],
            limits: [{ window: 'lifetime', nanoUsd: 10n, isExhaustedWhenReached: false }],
          });
        expect(await counters.reserve(createReservation(claim(0n, 10n)))).toBeUndefined();
        expect(await counters.reserve(createReservation(claim(1n, 10n)))).toMatchObject({ spentNanoUsd: 10n });
        expect(await counters.reserve(createReservation(claim(0n, 11n)))).toMatchObject({ spentNanoUsd: 11n });
      });

      it('forget what nobody settled, and do not count it when it is settled then', async () => {
        const account = randomUUID();
        const lost = { ...createReservation(createClaim(account, 100n, 100n)), reservationMs: 50 };
        expect(await counters.reserve(lost)).toBeUndefined();
        const ask = () => createReservation(createClaim(account, 100n, 100n));
        await expect.poll(async () => await other.reserve(ask())).toBeUndefined();
        await counters.settle(lost, settlement(100n));
        expect(await counters.reserve(createReservation(createClaim(account, 1n, 100n)))).toMatchObject({
          spentNanoUsd: 0n,
        });
      });

      it('free what a process held that has ended, if they outlive it, and take over what the ledger says of it', async () => {
        if (!counters.release) return; // counts in memory end with their process
        const account = randomUUID();
        const first = createReservation(createClaim(account, 40n, 100n));
        const further = { ...createReservation(createClaim(account, 10n, 100n)), id: `${first.id}.12` };
        const alone = { ...createReservation(createClaim(account, 5n, 100n)), id: `${first.id}.3` };
        const lost = [first, further, createReservation(createClaim(account, 20n, 100n))];
        const going = createReservation(createClaim(account, 20n, 100n));
        expect(await count([...lost, going].map((each) => counters.reserve(each)))).toBe(4);
        await counters.reserve(alone);
        await other.release!([alone.id], [createClaim(account, 0n)]);
        expect(await counters.reserve(createReservation(createClaim(account, 11n, 100n)))).toMatchObject({
          reservedNanoUsd: 90n,
        });
        const booked = createClaim(account, 0n, undefined, { recordedNanoUsd: [50n, 50n, 50n, 50n] });
        for (let time = 0; time < 2; time++) {
          await other.release!([first.id, lost[2]!.id, randomUUID()], [booked, createClaim(randomUUID(), 0n)]);
        }
        const told = { spentNanoUsd: 50n, reservedNanoUsd: 20n };
        expect(await counters.reserve(createReservation(createClaim(account, 31n, 100n)))).toMatchObject(told);
        // Its process is still alive, and the ledger already has its cost.
        await counters.settle(lost[0]!, settlement(40n));
        expect(await counters.reserve(createReservation(createClaim(account, 30n, 100n)))).toBeUndefined();
      });

      it('keep sums of millions of dollars to the nano-dollar', async () => {
        const account = randomUUID();
        const max = 9_000_000_000_000_000n;
        const claim = (nanoUsd: bigint, booked: bigint) =>
          createClaim(account, nanoUsd, max, { recordedNanoUsd: [booked, booked, booked, booked] });
        expect(await counters.reserve(createReservation(claim(2n, max - 1n)))).toMatchObject({
          spentNanoUsd: max - 1n,
        });
        const last = createReservation(claim(1n, max - 1n));
        expect(await counters.reserve(last)).toBeUndefined();
        await counters.settle(last, settlement(1n));
        expect(await counters.reserve(createReservation(claim(0n, 0n)))).toMatchObject({
          spentNanoUsd: max,
          reservedNanoUsd: 0n,
        });
      });
    });
  });
}

/**
 * Tests the further contract of counters that several processes share.
 *
 * @param open opens the same counts at each call, as another process does
 * @param empty makes the counters lose everything
 */
export function testSharedCounters(
  name: string,
  open: () => Promise<SharedCounters>,
  empty: () => Promise<void>,
): void {
  describe(`counters: ${name}: lost counts`, () => {
    let counters: SharedCounters;
    let other: SharedCounters;
    beforeAll(async () => {
      [counters, other] = await Promise.all([open(), open()]);
      await vi.waitFor(() => Promise.all([counters.ping(), other.ping()]));
    });
    afterAll(() => Promise.all([counters.close(), other.close()]));

    const claim = (account: string, isCurrent: boolean, booked = 0n) =>
      createClaim(account, 10n, 100n, { isCurrent, recordedNanoUsd: [booked, booked, booked, booked] });
    const reserve = (each: SharedCounters, ...claims: Claim[]) => each.reserve(createReservation(...claims));

    it('create an account from current sums alone, and reserve nothing before', async () => {
      const [missing, known] = [randomUUID(), randomUUID()];
      expect(await reserve(counters, claim(known, true))).toBeUndefined();
      expect(await reserve(counters, claim(known, false), claim(missing, false))).toBe('unknown');
      expect(await reserve(counters, claim(known, false), claim(missing, true, 50n))).toBeUndefined();
      expect(await reserve(counters, createClaim(known, 81n, 100n))).toMatchObject({ reservedNanoUsd: 20n });
      expect(await reserve(other, createClaim(missing, 41n, 100n, { isCurrent: false }))).toMatchObject({
        spentNanoUsd: 50n,
        reservedNanoUsd: 10n,
      });
    });

    it('tell each process that has used an account that it was lost, until it comes with current sums', async () => {
      const account = randomUUID();
      for (const each of [counters, other]) expect(await reserve(each, claim(account, true))).toBeUndefined();
      const third = await open();
      await vi.waitFor(() => third.ping());
      await empty();
      expect(await reserve(counters, claim(account, false))).toBe('forgotten');
      expect(await reserve(counters, claim(account, true, 30n))).toBeUndefined();
      expect(await reserve(counters, claim(account, false))).toBeUndefined();
      for (let time = 0; time < 2; time++) expect(await reserve(other, claim(account, false))).toBe('forgotten');
      expect(await reserve(third, claim(account, false))).toBeUndefined(); // this process has nothing to announce
      expect(await reserve(other, claim(account, true, 40n))).toBeUndefined();
      expect(await reserve(other, claim(account, false))).toBeUndefined();
      expect(await reserve(counters, createClaim(account, 11n, 100n))).toMatchObject({
        spentNanoUsd: 40n,
        reservedNanoUsd: 50n,
      });
      await third.close();
    });
  });
}
