// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of the configuration file.
import { knownProviders } from '../../config/known-providers.ts';
import { isMapping } from '../../config/path.ts';
import type { ForeignSection } from './foreign-section.ts';
import type { ImportReport } from './import-report.ts';
import { escapeText, type KeyVariables, readReference } from './key-variables.ts';
import type { ForeignProvider } from './litellm-deployments.ts';

/** A provider entry without its id and its models. Equal accounts become one entry. */
export interface Account {
  /** The id that the entry gets if it is free. */
  name: string;
  /** The built-in provider that supplies missing settings. */
  sameAs: string | undefined;
  settings: Record<string, unknown>;
}

interface AccountParts {
  report: ImportReport;
  keys: KeyVariables;
  env: Readonly<Record<string, string | undefined>>;
}

/** Returns the account of a deployment. Undefined if it cannot be reached, which is reported. */
export function readAccount(
  params: ForeignSection,
  { prefix, provider }: { prefix: string; provider: ForeignProvider },
  { report, keys, env }: AccountParts,
): Account | undefined {
  const known = knownProviders.find(({ id }) => id === provider.id);
  const [base, url] = [params.takeText('api_base'), params.takeText('base_url')];
  const given = base ?? url;
  const address = given === undefined ? undefined : readAddress(given, provider.version, env);
  if (address?.problem !== undefined) {
    report.drop(params.place('api_base'), address.problem);
    return undefined;
  }
  const variable = address?.text.startsWith('${') ? readReference(given ?? '') : undefined;
  if (variable !== undefined) report.variables.set(variable, `as before, for ${params.place('api_base')}`);
  const isUsual = address === undefined || address.text === known?.baseUrl;
  if (address?.isUnchecked) {
    params.change(
      'api_base',
      `the variable is not set here; its address must end as ${known?.baseUrl ?? 'https://host/v1'} does`,
    );
  }
  if (isUsual && (!known || known.baseUrl === undefined)) {
    const why = known ? 'an address (api_base) is missing' : `the provider ${prefix} is unknown and has no api_base`;
    report.drop(params.path, why);
    return undefined;
  }
  const isOther = !isUsual && provider.isCompatible === true; // another server with the protocol of OpenAI
  const settings: Record<string, unknown> = {
    ...(isOther && { wire: 'openai-chat' }),
    ...(!isUsual && { base_url: address.text }),
  };
  const usual = known?.env[0] ?? `${prefix}_API_KEY`;
  const key = params.takeText('api_key');
  const reference = key === undefined ? undefined : keys.refer(key, usual, params.place('api_key'));
  if (reference !== undefined) settings['api_key'] = reference;
  else if (key === undefined && known?.env[0] !== undefined) {
    report.variables.set(known.env[0], `as before, for ${params.path}`); // LiteLLM reads the same variable
    if (isOther) settings['api_key'] = `\${${known.env[0]}}`;
  }
  const headers = readHeaders(params, keys);
  if (headers) settings['headers'] = headers;
  const seconds = params.takeNumber('timeout');
  if (seconds) settings['timeouts'] = { total_ms: Math.round(seconds * 1000) };
  const retries = params.takeNumber('max_retries') ?? params.takeNumber('num_retries');
  if (retries !== undefined) settings['retry'] = { attempts: Math.floor(retries) + 1 };
  return {
    name: isOther ? address.name : (known?.id ?? prefix),
    sameAs: isOther ? undefined : known?.id,
    settings,
  };
}

interface Address {
  text: string;
  /** For the id of the entry. */
  name: string;
  isUnchecked?: boolean;
  problem?: string;
}

const isVersion = /\/v\d+\w*(?:\/openai)?$|\/openai\/v1$|\/openai$|\/models$/;
const paths = /\/(?:chat\/completions|completions|responses|v1\/messages|messages)$/;

/** Returns an address up to the version. @param version appended if the address has none */
function readAddress(value: string, version: string | undefined, env: AccountParts['env']): Address {
  const variable = readReference(value);
  const actual = variable === undefined ? value : env[variable];
  const name = variable?.toLowerCase().replace(/_(?:api_)?(?:base|url)(?:_url)?$/, '') ?? '';
  if (actual === undefined) return { text: `\${${variable}}`, name, isUnchecked: true };
  const url = URL.parse(actual);
  const nothing = { text: '', name: '' };
  if (!url || !/^https?:$/.test(url.protocol)) return { ...nothing, problem: 'is no http or https URL' };
  if (url.username !== '' || url.password !== '' || url.search !== '') {
    return { ...nothing, problem: 'has credentials or a query; use api_key or headers of the provider' };
  }
  const path = url.pathname.replace(/\/+$/, '').replace(paths, '').replace(/\/+$/, '');
  const suffix = version !== undefined && !isVersion.test(path) ? version : '';
  if (variable !== undefined && path === url.pathname) return { text: `\${${variable}}${suffix}`, name };
  return { text: escapeText(`${url.origin}${path}${suffix}`), name: name || url.host.replace(/[^\w.-]+/g, '-') };
}

/** Headers may hold keys, so every literal value becomes a variable. */
function readHeaders(params: ForeignSection, keys: KeyVariables): Record<string, string> | undefined {
  const given = new Map<string, { value: unknown; place: string }>();
  for (const field of ['headers', 'extra_headers']) {
    const section = params.take(field);
    for (const [name, value] of Object.entries(isMapping(section) ? section : {})) {
      given.set(name, { value, place: `${field}.${name}` });
    }
  }
  const organization = params.takeText('organization');
  if (organization !== undefined) given.set('OpenAI-Organization', { value: organization, place: 'organization' });
  const headers: Record<string, string> = {};
  for (const [name, { value, place }] of given) {
    const reference = keys.refer(String(value), `HEADER_${name}`, params.place(place));
    if (reference !== undefined) headers[name] = reference;
  }
  return Object.keys(headers).length === 0 ? undefined : headers;
}
