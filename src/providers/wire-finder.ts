import { performance } from 'node:perf_hooks'; // the global is a getter
import type { Wire } from './wire.ts';

/** Sends an empty JSON object to a path of the server. @returns the status of the response @throws if there is none */
export type Probe = (path: string) => Promise<number>;

/** How long a server that did not say what it speaks is not asked again. */
const RETRY_MS = 5_000;

/**
 * Finds out which of several protocols a server speaks: the first whose path exists. Requests use the likelier one until
 * that is known, and ask only if its path is missing.
 */
export class WireFinder {
  private readonly wires: readonly [Wire, ...Wire[]];
  private readonly probe: Probe;
  private known: Wire | undefined;
  private pending: Promise<void> | undefined;
  private retryAt = 0;

  /**
   * @param wires each has a `text.probePath`; the likelier one first
   * @param known what an earlier finder has found at the same address
   */
  constructor(wires: readonly [Wire, ...Wire[]], probe: Probe, known?: Wire) {
    this.wires = wires;
    this.probe = probe;
    this.known = known;
  }

  /** What was found. Undefined if the server has not been asked, or did not say. */
  get found(): Wire | undefined {
    return this.known;
  }

  /** The wire for the next request: the one that was found, or the likelier one. */
  get wire(): Wire {
    return this.known ?? this.wires[0];
  }

  /** Asks the server, unless its protocol is known. Concurrent callers wait for the same response. Never rejects. */
  async find(): Promise<Wire | undefined> {
    if (!this.known && (this.pending || performance.now() >= this.retryAt)) {
      this.pending ??= this.request();
      await this.pending;
    }
    return this.known;
  }

  /** Finds the wire to use in place of one whose path is missing. @returns undefined if there is none */
  async findOther(missing: Wire): Promise<Wire | undefined> {
    if (this.known === missing) this.known = undefined;
    const found = await this.find();
    return found === missing ? undefined : found;
  }

  private async request(): Promise<void> {
    try {
      const found = await findWire(this.wires, this.probe);
      this.known = found === 'none' ? undefined : found;
      if (!this.known) this.retryAt = performance.now() + RETRY_MS;
    } catch {
      // A server that is down may be up for the next request, which tells what is wrong with it.
    }
    this.pending = undefined;
  }
}

/**
 * Finds the first of the wires whose path exists. An empty request costs nothing: a server that knows the path rejects it.
 *
 * @returns `none` if no path exists; undefined if the server did not say, because it rejects the key first, say
 * @throws if the server cannot be reached
 */
export async function findWire(wires: readonly Wire[], probe: Probe): Promise<Wire | 'none' | undefined> {
  let missing = 0;
  for (const wire of wires) {
    const verdict = judge(await probe(wire.text?.probePath ?? '/'));
    if (verdict === 'there') return wire;
    if (verdict === 'missing') missing++;
  }
  return missing === wires.length ? 'none' : undefined;
}

function judge(status: number): 'there' | 'missing' | 'unknown' {
  if (isMissingPath(status) || status === 501) return 'missing';
  // A key that is rejected, or a proxy in front of a server that is down, says nothing about the path.
  if ([401, 403, 407, 408, 429, 502, 503, 504].includes(status) || (status >= 300 && status < 400)) return 'unknown';
  return 'there';
}

/** Whether a status says that the server does not have the path, or not for this method. */
export const isMissingPath = (status: number): boolean => status === 404 || status === 405;
