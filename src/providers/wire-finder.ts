import { performance } from 'node:perf_hooks'; // the global is a getter
import type { Wire } from './wire.ts';

/** Sends an empty JSON object to a path of the server. @returns the status of the response @throws if there is none */
export type Probe = (path: string) => Promise<number>;

/** Minimum time between two probes of a server that did not show its protocol. */
const RETRY_MS = 5_000;

/**
 * Detects which of several protocols a server supports: the first whose path exists. Until it is known, requests use
 * the more likely one. The server is probed only if that path is missing.
 */
export class WireFinder {
  private readonly wires: readonly [Wire, ...Wire[]];
  private readonly probe: Probe;
  private known: Wire | undefined;
  private pending: Promise<void> | undefined;
  private retryAt = 0;

  /**
   * @param wires each has a `text.probePath`; the more likely one comes first
   * @param known the wire that an earlier finder found at the same URL
   */
  constructor(wires: readonly [Wire, ...Wire[]], probe: Probe, known?: Wire) {
    this.wires = wires;
    this.probe = probe;
    this.known = known;
  }

  /** The detected wire. Undefined if the server was not probed, or did not show its protocol. */
  get found(): Wire | undefined {
    return this.known;
  }

  /** The wire for the next request: the detected one, or the more likely one. */
  get wire(): Wire {
    return this.known ?? this.wires[0];
  }

  /** Probes the server, unless its protocol is known. Concurrent callers share one probe. Never rejects. */
  async find(): Promise<Wire | undefined> {
    if (!this.known && (this.pending || performance.now() >= this.retryAt)) {
      this.pending ??= this.request();
      await this.pending;
    }
    return this.known;
  }

  /** Finds the wire to use instead of one whose path is missing. @returns undefined if there is none */
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
      // The server may be available for the next request. Otherwise, that request reports the error.
    }
    this.pending = undefined;
  }
}

/**
 * Finds the first wire whose path exists. An empty request costs nothing, because a server with the path rejects it.
 *
 * @returns `none` if no path exists; undefined if that is unknown, for example because the server rejects the key
 * @throws if the server is unreachable
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
  // If a key is rejected, or the server behind a proxy is unavailable, the status does not depend on the path.
  if ([401, 403, 407, 408, 429, 502, 503, 504].includes(status) || (status >= 300 && status < 400)) return 'unknown';
  return 'there';
}

/** Whether a status means that the server does not have the path, or does not support the method. */
export const isMissingPath = (status: number): boolean => status === 404 || status === 405;
