import { beforeEach, describe, expect, it } from 'vitest';
import { createCatalog } from '../catalog/catalog.ts';
import type { Caller } from '../domain/caller.ts';
import { Cancellation } from '../domain/cancellation.ts';
import { GatewayError } from '../domain/errors.ts';
import type { ImageEvent } from '../domain/image-events.ts';
import type { ImageChunk, ImageRequest } from '../domain/images.ts';
import type { LedgerEntry } from '../domain/ledger-entry.ts';
import { parseImage } from '../domain/parse-image.ts';
import { pass } from '../domain/verdict.ts';
import { bareEndpoint, createProvider, type Endpoint } from '../providers/provider.ts';
import { simulator } from '../providers/simulator/index.ts';
import { createRoutingContext } from '../routing/routing-context.ts';
import { ByteBudget } from './images/byte-budget.ts';
import { createImage } from './create-image.ts';
import { createImageRun } from './run/create-run.ts';
import { lastAttemptOf } from './run/step.ts';
import { createRetryParts } from './steps/endpoint-queue.ts';
import type { ImagePipeline } from './image-pipeline.ts';

/*
 * A generation needs no HTTP: a pipeline, a caller and a cancellation are enough.
 */

const caller: Caller = { keyHash: 'h', keyName: 'k', kind: 'member', workspaceId: 'w', memberId: 'ada' };
const provider = createProvider({
  id: 'simulator',
  name: 'Simulator',
  wire: simulator,
  apiKeys: [],
  headers: {},
  dialect: {},
  timeouts: { connectMs: 1000, firstByteMs: 1000, idleMs: 1000, totalMs: 1000 },
});
const pricing = [{ billable: 'output_image', unit: 'image', costUsd: 0.1 }] as const;
const endpoint: Endpoint = {
  ...bareEndpoint(provider, 'simulator/image', 'image'),
  capabilities: { output: ['text', 'image'] },
  image: { ...simulator.image.facts, pricing },
};
const unneeded = (): never => {
  throw new Error('nothing is fetched');
};

let booked: LedgerEntry[];
let pipeline: ImagePipeline;
beforeEach(() => {
  booked = [];
  const routingContext = createRoutingContext(createCatalog([endpoint]));
  pipeline = {
    routingContext: () => routingContext,
    maxAttempts: () => 1,
    retry: createRetryParts(),
    record: (entry) => void booked.push(entry),
    hashEndUser: () => '',
    region: () => 'local',
    inspector: () => pass,
    references: { fetchReference: unneeded, checkReference: unneeded },
    images: { checkImage: (bytes) => parseImage(bytes) ?? expect.unreachable(), fetchImage: unneeded },
    limits: () => ({ answer: 1e7, reference: 1e7, fetched: 1 }),
    budget: new ByteBudget(() => 1e7),
  };
});

async function draw(request: Partial<ImageRequest>, cancellation = new Cancellation()): Promise<ImageEvent[]> {
  const origin = { caller, cancellation, generationId: 'gen-1', metadata: false, ignoredFields: [], clamped: [] };
  const asked = { model: 'simulator/image', prompt: 'A red fox', size: { width: 64, height: 64 }, ...request };
  const run = createImageRun(pipeline, asked, origin);
  const events: ImageEvent[] = [];
  try {
    await createImage(pipeline, run, { write: (batch) => void events.push(...batch) });
  } finally {
    lastAttemptOf(run)?.memory.free();
  }
  return events;
}

describe('an image generation of the gateway itself', () => {
  it('returns the images as bytes, the last one with the total cost', async () => {
    const events = await draw({ n: 2 });
    expect(events.map(({ type }) => type)).toEqual(['image_generation.completed', 'image_generation.completed']);
    expect(events[0]).toMatchObject({ image: { mediaType: 'image/png', width: 64, height: 64 }, isLast: false });
    expect(events[1]).toMatchObject({ isLast: true, usage: { cost: 0.2, completion_tokens: 512 } });
  });

  it('returns partial images if the request is for a stream', async () => {
    const events = await draw({ stream: true });
    expect(events.map(({ type }) => type.split('.')[1])).toEqual([
      'partial_image',
      'partial_image',
      'partial_image',
      'completed',
    ]);
  });

  it('is booked once, on the account of the caller', async () => {
    await draw({});
    expect(booked).toMatchObject([
      { id: 'gen-1', apiType: 'image', workspaceId: 'w', memberId: 'ada', costNanoUsd: 100_000_000n },
    ]);
  });

  it('frees the memory of a failed attempt before it waits for the retry', async () => {
    const link: ImageChunk = { type: 'image_link', url: 'https://images.example/fox.png' };
    const image = { ...simulator.image, createReader: () => ({ read: () => [link], end: () => [] }) };
    const limits = { attempts: 2, backoffMs: 1, maxBackoffMs: 1, maxRetryAfterMs: 1, budgetMs: 60_000 };
    const linking = createProvider({
      id: 'links',
      name: 'Links',
      wire: { ...simulator, image },
      apiKeys: [],
      headers: {},
      dialect: {},
      timeouts: { connectMs: 1000, firstByteMs: 1000, idleMs: 1000, totalMs: 1000 },
      retry: { ...limits, share: 1, minimum: 1 },
    });
    const context = createRoutingContext(createCatalog([{ ...endpoint, provider: linking }]));
    const fetched: (Promise<void> | undefined)[] = [];
    const waited: (Promise<void> | undefined)[] = [];
    /** Takes as much as one response takes at least. The budget has room for one response. */
    const takeOne = () => {
      const share = pipeline.budget.share();
      const place = share.hold(1e6);
      share.free();
      return place;
    };
    pipeline = {
      ...pipeline,
      routingContext: () => context,
      maxAttempts: () => 2,
      images: {
        ...pipeline.images,
        async fetchImage() {
          fetched.push(takeOne());
          throw new GatewayError('upstream_failed', 'There is no image.', { retryable: true, isTransient: true });
        },
      },
      retry: {
        ...createRetryParts(),
        wait: async () => void waited.push(takeOne()),
      },
    };
    await expect(draw({})).rejects.toThrow('There is no image.');
    expect(fetched).toEqual([expect.any(Promise), expect.any(Promise)]);
    expect(waited).toEqual([undefined]);
  });

  it('ends with what it is part of, at no cost', async () => {
    const cancellation = new Cancellation();
    const drawn = draw({ prompt: '[[stall 1]] x', stream: true }, cancellation);
    cancellation.cancel(new GatewayError('client_closed', 'The client left.'));
    await expect(drawn).rejects.toMatchObject({ kind: 'client_closed' });
    expect(booked).toMatchObject([{ outcome: 'cancelled', costNanoUsd: 0n }]);
  });
});
