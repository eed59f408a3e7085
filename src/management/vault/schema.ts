import { isIP } from 'node:net';
import { Type } from 'typebox';
import { invalidRequest } from '../../domain/errors.ts';
import type { SecretLocation } from '../../domain/secret-location.ts';
import { isObject } from '../../schema/by-kind.ts';
import { characterCount, maybe } from '../../schema/shapes.ts';
import { type CheckedBody, createBodyCheck, strictBody } from '../check-body.ts';

const MAX_VALUE_CHARACTERS = 65_536;

const name = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: '^[a-z][a-z0-9]*(_[a-z0-9]+)*$',
  says: 'must be lower-case letters and digits that begin with a letter, with single underscores between them',
});

const host = Type.Refine(
  Type.String({ minLength: 1, maxLength: 254, documented: { format: 'hostname' } }),
  (text) => isDnsName(normalizeHost(text)),
  () => 'must be the exact DNS name of a host, without scheme, port, path and wildcard',
);

const location = Type.Unsafe<SecretLocation>(
  Type.String({
    maxLength: 100,
    pattern: "^(header|path|query|body|header:[A-Za-z0-9!#$%&'*+.^_`|~-]+)$",
    says: 'must be header, path, query, body, or header: with the name of a header, such as header:cookie',
  }),
);

const putSecret = strictBody({
  value: Type.String({ minLength: 1, maxLength: MAX_VALUE_CHARACTERS }),
  hosts: Type.Array(host, { minItems: 1, maxItems: 100 }),
  locations: maybe(
    Type.Array(location, {
      minItems: 1,
      maxItems: 20,
      description:
        'The parts of a request that the secret may be put into. `["header"]` by default: the headers that carry credentials. `header:x-name` names another one.',
    }),
  ),
});
const copySecrets = strictBody({
  names: Type.Array(name, { minItems: 1, maxItems: 100, documented: { uniqueItems: true } }),
});

export type PutSecretBody = CheckedBody<typeof putSecret>;

const checkBody = createBodyCheck(putSecret);
const checkCopy = createBodyCheck(copySecrets);

/** Checks the body that writes a secret. No error has a part of the value. @throws {GatewayError} `invalid_request` */
export const checkPutSecret = Object.assign(
  (body: unknown): PutSecretBody => {
    if (isObject(body) && body.value !== undefined && !isValidValue(body.value)) {
      const message = `\`value\` must be a string of 1 to ${MAX_VALUE_CHARACTERS} characters, without half surrogate pairs.`;
      throw invalidRequest([{ path: 'value', message }]);
    }
    return checkBody(body);
  },
  { schema: putSecret },
);

/** @throws {GatewayError} `invalid_request` */
export const checkCopySecrets = Object.assign(
  (body: unknown): CheckedBody<typeof copySecrets> => {
    const checked = checkCopy(body);
    if (new Set(checked.names).size === checked.names.length) return checked;
    throw invalidRequest([{ path: 'names', message: '`names` must not name a secret twice.' }]);
  },
  { schema: copySecrets },
);

/** For a name in a path. */
export const checkSecretName = createBodyCheck(strictBody({ name }));

/** Returns the hosts in lower case, without final dots, each one once. */
export const normalizeHosts = (hosts: readonly string[]): string[] => [...new Set(hosts.map(normalizeHost))];

const normalizeHost = (text: string): string => text.toLowerCase().replace(/\.$/, '');

/** An address is no name: a certificate for it has no name of a host. */
const isDnsName = (text: string): boolean =>
  text.length <= 253 &&
  isIP(text) === 0 &&
  text.split('.').every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label));

const isValidValue = (value: unknown): boolean =>
  typeof value === 'string' && value !== '' && value.isWellFormed() && characterCount(value) <= MAX_VALUE_CHARACTERS;
