import { getCACertificates } from 'node:tls';
import type { CertificateAuthority } from './certificate-authority.ts';

/**
 * Returns the certificates that programs in a sandbox trust, as PEM: the public authorities, those of the host, and the one
 * of the egress proxy. For a file that `listTrustVariables` names.
 */
export const writeTrustBundle = ({ certificate }: Pick<CertificateAuthority, 'certificate'>): string =>
  [...new Set([...getCACertificates('default'), ...getCACertificates('system'), certificate])]
    .map((text) => text.trim())
    .join('\n')
    .concat('\n');

/** Variables that name such a file. OpenSSL, Go and Ruby read the first one. */
const variables = [
  'SSL_CERT_FILE',
  'NODE_EXTRA_CA_CERTS',
  'CURL_CA_BUNDLE',
  'REQUESTS_CA_BUNDLE',
  'PIP_CERT',
  'GIT_SSL_CAINFO',
  'AWS_CA_BUNDLE',
  'CARGO_HTTP_CAINFO',
  'DENO_CERT',
];

/** Returns the environment of a sandbox in which programs trust the egress proxy. @param path of the file in the sandbox */
export const listTrustVariables = (path: string): Record<string, string> =>
  Object.fromEntries(variables.map((name) => [name, path]));
