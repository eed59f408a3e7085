import { lookup } from 'node:dns/promises';
import type { ProviderConfig } from '../../config/schema.ts';
import { findPackage } from '../../providers/ai-sdk/load-package.ts';
import { wires } from '../../providers/index.ts';
import { readMessage } from '../terminal.ts';
import type { Finding } from './finding.ts';

const probeTimeoutMs = 10_000;

/** Is the provider's host known; and with `probe`, does it list its models to each of our keys? */
export async function checkProvider(provider: ProviderConfig, { probe }: { probe: boolean }): Promise<Finding[]> {
  const subject = provider.id;
  if (provider.wire === 'ai-sdk') return [checkPackage(provider)];
  if (provider.base_url === undefined) return [{ status: 'ok', subject, says: 'inside this process' }];
  const url = new URL(provider.base_url);
  try {
    await lookup(url.hostname.replace(/^\[|\]$/g, ''));
  } catch (error) {
    const says = `${url.hostname} has no address (${readMessage(error)})`;
    return [
      { status: 'fail', subject, says, mend: 'Correct base_url, or mend name resolution and network of this machine.' },
    ];
  }
  const keys = provider.api_key === undefined ? [] : [provider.api_key].flat();
  if (!probe) {
    const count = keys.length === 1 ? '1 key' : `${keys.length || 'no'} keys`;
    return [{ status: 'ok', subject, says: `${url.host} has an address; ${count}; not asked without --probe` }];
  }
  const probed = keys.length === 0 ? [undefined] : keys;
  return Promise.all(
    probed.map(async (key, index) => {
      const finding = await requestModels(provider, key);
      const which = probed.length > 1 ? `key ${index + 1} of ${probed.length}: ` : '';
      return { ...finding, subject, says: which + finding.says };
    }),
  );
}

function checkPackage({ id: subject, package: name = '' }: ProviderConfig): Finding {
  try {
    findPackage(name);
    return { status: 'ok', subject, says: `${name} is installed; not asked` };
  } catch (error) {
    return { status: 'fail', subject, says: readMessage(error), mend: `Run: npm install ${name}` };
  }
}

/** The list of models: the one call that costs nothing, and that all wires have at the same place. */
async function requestModels(provider: ProviderConfig, key: string | undefined): Promise<Omit<Finding, 'subject'>> {
  const wire = wires.get(provider.wire);
  const headers = new Headers({ ...wire?.headers, ...(key === undefined ? undefined : wire?.authorize(key)) });
  for (const [name, value] of Object.entries(provider.headers ?? {})) headers.set(name, value);
  const started = performance.now();
  let status: number;
  try {
    const answer = await fetch(`${provider.base_url!.replace(/\/$/, '')}/models`, {
      headers,
      redirect: 'manual',
      signal: AbortSignal.timeout(probeTimeoutMs),
    });
    await answer.body?.cancel();
    status = answer.status;
  } catch (error) {
    return {
      status: 'fail',
      says: `does not answer (${readMessage(error)})`,
      mend: 'Correct base_url, or start the server there.',
    };
  }
  const took = `${Math.round(performance.now() - started)} ms`;
  if (status < 300) return { status: 'ok', says: `answers in ${took}` };
  if (status === 401 || status === 403) {
    const mend = key === undefined ? 'Set api_key.' : 'Put a valid key into api_key.';
    return {
      status: 'fail',
      says: `refuses ${key === undefined ? 'a request without a key' : 'the key'} (${status})`,
      mend,
    };
  }
  if (status === 404 || status === 405) {
    return { status: 'ok', says: `answers in ${took}, and has no list of models (${status}); the key was not tried` };
  }
  return {
    status: 'warn',
    says: `answers ${status} in ${took}`,
    mend: 'Try again later; see the provider’s status page.',
  };
}
