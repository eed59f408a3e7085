import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import {
  writeBits,
  writeElement,
  writeInteger,
  writeObjectId,
  writeOctets,
  writeSequence,
  writeTimeElement,
  writeTrue,
} from './der.ts';

/**
 * Certifies the egress proxy as the hosts that secrets are bound to. Only sandboxes trust it. Its key exists in the memory
 * of this process alone, and another process has another one.
 */
export interface CertificateAuthority {
  /** PEM. */
  certificate: string;
  /** Returns the certificate of the proxy for a host, with its key. */
  certify(host: string): SecureContext;
}

const DAY_MS = 86_400_000;
const LEAF_DAYS = 30;
const MAX_CACHED = 200;

const oids = {
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  commonName: '2.5.4.3',
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectNames: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
};

/** @param now Unix milliseconds */
export function createCertificateAuthority(now: () => number = Date.now): CertificateAuthority {
  const authority = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const leaf = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = writeName(`Headgate egress proxy ${randomBytes(4).toString('hex')}`);
  const authorityId = createKeyId(authority.publicKey);
  const issue = (subject: Buffer, publicKey: KeyObject, days: number, extensions: readonly Buffer[]): string =>
    writeCertificate(
      { issuer: name, subject, publicKey, fromMs: now() - DAY_MS, untilMs: now() + days * DAY_MS, extensions },
      authority.privateKey,
    );

  const certificate = issue(name, authority.publicKey, 3650, [
    writeExtension(oids.basicConstraints, writeSequence(writeTrue(), writeInteger(Buffer.from([0]))), true),
    writeExtension(oids.keyUsage, writeBits(Buffer.from([0b0000_0110]), 1), true), // signs certificates and lists
    writeExtension(oids.subjectKeyId, writeOctets(authorityId)),
  ]);
  const leafKey = leaf.privateKey.export({ type: 'pkcs8', format: 'pem' });
  const cached = new Map<string, { context: SecureContext; renewMs: number }>();

  return {
    certificate,
    certify(host) {
      const known = cached.get(host);
      cached.delete(host); // and insert it last: the first one is the longest unused
      const found = known && known.renewMs > now() ? known : certifyAnew(host);
      if (cached.size === MAX_CACHED) cached.delete(cached.keys().next().value!);
      cached.set(host, found);
      return found.context;
    },
  };

  function certifyAnew(host: string): { context: SecureContext; renewMs: number } {
    // The name of the host is in the extension, because a common name has at most 64 characters.
    const cert = issue(writeName('Headgate egress proxy'), leaf.publicKey, LEAF_DAYS, [
      writeExtension(oids.basicConstraints, writeSequence(), true),
      writeExtension(oids.keyUsage, writeBits(Buffer.from([0b1000_0000]), 7), true), // signs handshakes
      writeExtension(oids.extendedKeyUsage, writeSequence(writeObjectId(oids.serverAuth))),
      writeExtension(oids.subjectNames, writeSequence(writeElement(0x82, Buffer.from(host, 'latin1')))),
      writeExtension(oids.subjectKeyId, writeOctets(createKeyId(leaf.publicKey))),
      writeExtension(oids.authorityKeyId, writeSequence(writeElement(0x80, authorityId))),
    ]);
    const context = createSecureContext({ key: leafKey, cert: cert + certificate, minVersion: 'TLSv1.2' });
    return { context, renewMs: now() + (LEAF_DAYS / 2) * DAY_MS };
  }
}

interface CertificateFields {
  issuer: Buffer;
  subject: Buffer;
  publicKey: KeyObject;
  fromMs: number;
  untilMs: number;
  extensions: readonly Buffer[];
}

/** Writes a certificate of version 3 as PEM. @see RFC 5280 section 4.1 */
function writeCertificate(fields: CertificateFields, signer: KeyObject): string {
  const algorithm = writeSequence(writeObjectId(oids.ecdsaWithSha256));
  const content = writeSequence(
    writeElement(0xa0, writeInteger(Buffer.from([2]))),
    writeInteger(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    fields.issuer,
    writeSequence(writeTimeElement(fields.fromMs), writeTimeElement(fields.untilMs)),
    fields.subject,
    fields.publicKey.export({ type: 'spki', format: 'der' }),
    writeElement(0xa3, writeSequence(...fields.extensions)),
  );
  const bytes = writeSequence(content, algorithm, writeBits(sign('sha256', content, signer)));
  const lines = bytes.toString('base64').match(/.{1,64}/g)!;
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}

const writeName = (commonName: string): Buffer =>
  writeSequence(
    writeElement(
      0x31,
      writeSequence(writeObjectId(oids.commonName), writeElement(0x0c, Buffer.from(commonName, 'utf8'))),
    ),
  );

const writeExtension = (oid: string, content: Buffer, isCritical = false): Buffer =>
  writeSequence(writeObjectId(oid), ...(isCritical ? [writeTrue()] : []), writeOctets(content));

const createKeyId = (key: KeyObject): Buffer =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20);
