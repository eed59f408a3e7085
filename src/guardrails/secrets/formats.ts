import type { Detector } from '../detector.ts';
import { decodeBase58Check } from './base58.ts';

const isBase58Check = (text: string): boolean => decodeBase58Check(text) !== undefined;

const base58 = '[1-9A-HJ-NP-Za-km-z]';
const pem = '(?:[A-Z0-9]{2,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----';

/** A PEM block with an RSA key of 16384 bits has about 12,800 characters. */
const MAX_PEM_LENGTH = 16_384;

/** A token stands alone: no letter, digit or `_` is next to it. Prefixes and lengths are those of the issuers. */
const token = (id: string, source: string): Detector => ({
  id,
  source: String.raw`(?<!\w)(?:${source})(?!\w)`,
});

/** A token in base64url, which may contain `-`. */
const urlToken = (id: string, source: string): Detector => ({
  id,
  source: String.raw`(?<!\w)(?:${source})(?![\w-])`,
});

/** Formats of secrets. More specific ones are first: of two with the same text the first one counts. */
export const secretFormats: readonly Detector[] = [
  urlToken('gateway-api-key', 'sk-rt-(?:mgmt-)?v1-[0-9a-f]{64}'),
  urlToken('anthropic-api-key', 'sk-ant-(?:api03|admin01)-[\\w-]{93}AA'),
  urlToken('openai-legacy-api-key', 'sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}'),
  urlToken('openai-api-key', 'sk-(?:proj|svcacct|admin)-[\\w-]{40,200}'),
  token('aws-access-key-id', '(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}'),
  token('github-token', 'gh[pousr]_[A-Za-z0-9]{36,255}'),
  token('github-fine-grained-pat', 'github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}'),
  urlToken('gitlab-personal-access-token', 'glpat-[\\w-]{20,100}(?:\\.[\\w-]{2,20}){0,2}'),
  urlToken('google-api-key', 'AIza[\\w-]{35}'),
  urlToken('google-oauth-client-secret', 'GOCSPX-[\\w-]{28}'),
  token('stripe-secret-key', '[rs]k_(?:live|test)_[A-Za-z0-9]{16,250}'),
  urlToken('slack-token', 'xox[bpse]-\\d{9,14}-[A-Za-z0-9-]{16,200}'),
  urlToken('slack-legacy-workspace-token', 'xox[ar]-(?:\\d-)?[A-Za-z0-9]{8,60}(?:-[A-Za-z0-9]{8,60}){0,4}'),
  urlToken('slack-app-token', 'xapp-\\d-[A-Z0-9]{8,15}-\\d{9,15}-[a-z0-9]{40,100}'),
  token(
    'slack-webhook-url',
    'https:\\/\\/hooks\\.slack\\.com\\/(?:services|workflows|triggers)\\/[A-Za-z0-9+\\/]{30,80}',
  ),
  token('npm-access-token', 'npm_[A-Za-z0-9]{36}'),
  urlToken('pypi-upload-token', 'pypi-Ag(?:EIcHlwaS5vcmc|ENdGVzdC5weXBpLm9yZw)[\\w-]{50,400}'),
  urlToken('sendgrid-api-key', 'SG\\.[\\w-]{22}\\.[\\w-]{43}'),
  token('huggingface-access-token', 'hf_[A-Za-z0-9]{34,40}'),
  urlToken('databricks-api-token', 'dapi[0-9a-f]{32}(?:-\\d{1,2})?'),
  token('digitalocean-token', 'do[opr]_v1_[0-9a-f]{64}'),
  urlToken('atlassian-api-token', 'ATATT3[\\w=-]{50,300}'),
  token('doppler-token', 'dp\\.(?:pt|st|ct|sa|scim|audit)\\.(?:[a-z0-9_-]{2,35}\\.)?[A-Za-z0-9]{40,44}'),
  token('linear-api-key', 'lin_(?:api|oauth)_[A-Za-z0-9]{40,64}'),
  token('shopify-access-token', 'shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}'),
  urlToken('telegram-bot-token', '\\d{8,10}:[\\w-]{35}'),
  token('age-secret-key', 'AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}'),
  urlToken('json-web-token', 'eyJ[\\w-]{8,}\\.[\\w-]{4,}\\.[\\w-]{10,}'),
  {
    // Up to the end line, or, if there is none, as far as there are lines of base64. Line breaks may be escaped.
    id: 'private-key-block',
    source: String.raw`-----BEGIN ${pem}(?:[^]*?-----END ${pem}|(?:(?:\s|\\[nr])*[A-Za-z0-9+\/=]{16,100})*)`,
    maxLength: MAX_PEM_LENGTH,
  },
  { ...token('bitcoin-wif-uncompressed', `5[HJK]${base58}{49}`), check: isBase58Check },
  { ...token('bitcoin-wif-compressed', `[KL]${base58}{51}`), check: isBase58Check },
  { ...token('bitcoin-extended-private-key', `[xyz]prv${base58}{107}`), check: isBase58Check },
  token('ethereum-private-key', '0x[0-9a-fA-F]{64}'),
];
