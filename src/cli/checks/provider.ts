import { lookup } from 'node:dns/promises';
import type { ProviderConfig } from '../../config/schema.ts';
import { findPackage } from '../../providers/ai-sdk/load-package.ts';
import { wires as allWires, openWires } from '../../providers/index.ts';
import type { Wire } from '../../providers/wire.ts';
import { findWire, isMissingPath, type Probe } from '../../providers/wire-finder.ts';
import { readMessage } from '../terminal.ts';
import type { Finding } from './finding.ts';

const probeTimeoutMs = 10_000;

/**
 * Checks whether the provider's host name resolves. With `probe`, also checks whether the provider lists its models for
 * each key and has the path of its wire.
 */
export async function checkProvider(provider: ProviderConfig, { probe }: { probe: boolean }): Promise<Finding[]> {
  const subject = provider.id;
  if (provider.wire === 'ai-sdk') return [checkPackage(provider)];
  if (provider.base_url === undefined) return [{ status: 'ok', subject, says: 'inside this process' }];
  const url = new URL(provider.base_url);
  try {
    await lookup(url.hostname.replace(/^\[|\]$/g, ''));
  } catch (error) {
    const says = `${url.hostname} does not resolve (${readMessage(error)})`;
    return [
      {
        status: 'fail',
        subject,
        says,
        fix: 'Correct base_url, or fix the name resolution or the network of this machine.',
      },
    ];
  }
  const keys = provider.api_key === undefined ? [] : [provider.api_key].flat();
  if (!probe) {
    const count = keys.length === 1 ? '1 key' : `${keys.length || 'no'} keys`;
    return [{ status: 'ok', subject, says: `${url.host} resolves; ${count}; not contacted (use --probe)` }];
  }
  const probed = keys.length === 0 ? [undefined] : keys;
  const findings = await Promise.all(
    probed.map(async (key, index) => {
      const finding = await probeKey(provider, key);
      const which = probed.length > 1 ? `key ${index + 1} of ${probed.length}: ` : '';
      return { ...finding, subject, says: which + finding.says };
    }),
  );
  const onPath = findings.every(({ status }) => status === 'fail') ? undefined : await checkPath(provider, probed[0]);
  return onPath ? [...findings, { ...onPath, subject }] : findings;
}

/** Checks whether the server has the path of its wire. With `wire: openai`, finds which of the two paths it has. */
async function checkPath(
  provider: ProviderConfig,
  key: string | undefined,
): Promise<Omit<Finding, 'subject'> | undefined> {
  const wires = wiresOf(provider);
  const [wire] = wires;
  const probe: Probe = (path) => post(provider, path, key);
  if (wires.length > 1) {
    const found = await findWire(wires, probe).catch(() => undefined);
    if (found === 'none') return missingPath(`neither ${wires.map(pathOf).join(' nor ')}`);
    if (found) return { status: 'ok', says: `speaks ${pathOf(found)} (wire ${found.id})` };
    return { status: 'warn', says: 'does not say which protocol it speaks', fix: 'Write the wire of the provider.' };
  }
  const probePath = wire?.text?.probePath;
  if (!wire || probePath === undefined) return undefined;
  const status = await probe(probePath).catch(() => undefined);
  if (status === undefined || !isMissingPath(status)) return undefined;
  const others = [...openWires.values()].flat().filter((other) => other.id !== wire.id);
  const found = await findWire(others, probe).catch(() => undefined);
  if (!found || found === 'none') return missingPath(`no ${pathOf(wire)}`);
  return {
    status: 'fail',
    says: `has no ${pathOf(wire)} (${status}), but ${pathOf(found)}`,
    fix: `Set wire: ${found.id}.`,
  };
}

const pathOf = ({ text }: Wire): string => String(text?.probePath);

const missingPath = (what: string): Omit<Finding, 'subject'> => ({
  status: 'fail',
  says: `has ${what}`,
  fix: 'Correct base_url, which often ends in /v1, or the wire.',
});

// The schema has checked it.
const wiresOf = ({ wire }: ProviderConfig): readonly Wire[] => openWires.get(wire) ?? [allWires.get(wire)!];

function send(provider: ProviderConfig, path: string, key: string | undefined, how: RequestInit): Promise<Response> {
  const [wire] = wiresOf(provider);
  const headers = new Headers({
    ...(how.body !== undefined && { 'content-type': 'application/json' }),
    ...wire?.headers,
    ...(key === undefined ? undefined : wire?.authorize(key)),
  });
  for (const [name, value] of Object.entries(provider.headers ?? {})) headers.set(name, value);
  return fetch(provider.base_url!.replace(/\/$/, '') + path, {
    ...how,
    headers,
    redirect: 'manual',
    signal: AbortSignal.timeout(probeTimeoutMs),
  });
}

function checkPackage({ id: subject, package: name = '' }: ProviderConfig): Finding {
  try {
    findPackage(name);
    return { status: 'ok', subject, says: `${name} is installed; not contacted` };
  } catch (error) {
    return { status: 'fail', subject, says: readMessage(error), fix: `Run: npm install ${name}` };
  }
}

/** Sends an empty body, which no server accepts. @returns the status */
async function post(provider: ProviderConfig, path: string, key: string | undefined): Promise<number> {
  const answer = await send(provider, path, key, { method: 'POST', body: '{}' });
  await answer.body?.cancel();
  return answer.status;
}

/** Checks a key with the list of models, and with the path of the wire, because some servers list models for any key. */
async function probeKey(provider: ProviderConfig, key: string | undefined): Promise<Omit<Finding, 'subject'>> {
  const { finding, isTested } = await requestModels(provider, key);
  if (finding.status !== 'ok') return finding;
  for (const { text } of wiresOf(provider)) {
    if (text?.probePath === undefined) continue;
    const status = await post(provider, text.probePath, key).catch(() => undefined);
    if (status === undefined || isMissingPath(status)) continue;
    return isRejection(status) ? explainRejection(status, key) : finding;
  }
  return isTested ? finding : { ...finding, says: `${finding.says}; the key was not tested` };
}

const isRejection = (status: number): boolean => status === 401 || status === 403;

const explainRejection = (status: number, key: string | undefined): Omit<Finding, 'subject'> => ({
  status: 'fail',
  says: `rejects ${key === undefined ? 'a request without a key' : 'the key'} (${status})`,
  fix: key === undefined ? 'Set api_key.' : 'Put a valid key into api_key.',
});

/** A finding, and whether the server may have looked at the key. */
interface ModelsFinding {
  finding: Omit<Finding, 'subject'>;
  isTested: boolean;
}

/** Requests the list of models. It is the only free call, and its path is the same for all wires. */
async function requestModels(provider: ProviderConfig, key: string | undefined): Promise<ModelsFinding> {
  const started = performance.now();
  let status: number;
  try {
    const answer = await send(provider, '/models', key, {});
    await answer.body?.cancel();
    status = answer.status;
  } catch (error) {
    const says = `does not respond (${readMessage(error)})`;
    return found({ status: 'fail', says, fix: 'Correct base_url, or start the server there.' });
  }
  const took = `${Math.round(performance.now() - started)} ms`;
  if (status < 300) return found({ status: 'ok', says: `responds in ${took}` });
  if (isRejection(status)) return found(explainRejection(status, key));
  if (status === 404 || status === 405) {
    const says = `responds in ${took}, and has no list of models (${status})`;
    return { finding: { status: 'ok', says }, isTested: false };
  }
  const fix = 'Try again later; see the provider’s status page.';
  return found({ status: 'warn', says: `answers ${status} in ${took}`, fix });
}

const found = (finding: ModelsFinding['finding']): ModelsFinding => ({ finding, isTested: true });
