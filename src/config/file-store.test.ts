import { expect, it } from 'vitest';
import { listSecrets } from './list-secrets.ts';
import { ConfigError } from './config-error.ts';
import { loadConfig } from './load.ts';

const load = (files: Record<string, unknown>, env: Record<string, string> = {}) =>
  loadConfig({ file: null, cwd: '/srv/gate', env: { HEADGATE_FILES: JSON.stringify(files), ...env } }).config;
const problemsOf = (files: Record<string, unknown>, env?: Record<string, string>): readonly string[] => {
  try {
    load(files, env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError)
      return error.problems.map((line) => line.replace(/^HEADGATE_FILES \((.*?)\)/, '$1'));
    throw error;
  }
};
const aws = { AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'aws-secret-key', AWS_REGION: 'eu-1' };

it('stores the contents of files in the data folder by default', () => {
  expect(load({}).files).toMatchObject({ url: 'file:/srv/gate/data/files', s3: {} });
  expect(load({ url: 'file:../shared' }).files.url).toBe('file:/srv/shared');
  expect(load({ url: 'file:///mnt/x' }).files.url).toBe('file:/mnt/x');
  expect(problemsOf({ url: 'file://host/x' })[0]).toContain('must be file:PATH or file:///PATH');
});

it('takes the settings of a bucket from the environment', () => {
  expect(load({ url: 's3://files' }, { ...aws, AWS_SESSION_TOKEN: 'aws-token' }).files.s3).toEqual({
    access_key_id: 'AKID',
    secret_access_key: 'aws-secret-key',
    session_token: 'aws-token',
    region: 'eu-1',
  });
  const endpoints = { AWS_ENDPOINT_URL: 'http://a:1', AWS_ENDPOINT_URL_S3: 'http://b:2' };
  expect(load({ url: 's3://files' }, { ...aws, ...endpoints }).files.s3.endpoint).toBe('http://b:2');
  expect(load({ url: 'file:x' }, { ...aws, ...endpoints }).files.s3).toEqual({});
});

it('takes key, secret and token from one place, and the file wins', () => {
  const own = { access_key_id: 'own', secret_access_key: 'own-secret-key' };
  const { s3 } = load({ url: 's3://files/pre/fix', s3: own }, { ...aws, AWS_SESSION_TOKEN: 'aws-token' }).files;
  expect(s3).toEqual({ ...own, region: 'eu-1' });
  expect(problemsOf({ url: 's3://files', s3: { access_key_id: 'own' } }, aws)).toEqual([
    expect.stringContaining('files.s3.secret_access_key: is missing: set AWS_SECRET_ACCESS_KEY, or add it here'),
  ]);
});

it('says what a bucket needs', () => {
  expect(problemsOf({ url: 's3://files' }).map((line) => line.replace(/: set .*/, ''))).toEqual([
    expect.stringContaining('files.s3.access_key_id: is missing'),
    expect.stringContaining('files.s3.secret_access_key: is missing'),
    expect.stringContaining('files.s3.region: is missing'),
  ]);
  expect(problemsOf({ url: 's3://files', s3: { endpoint: 'http://minio:9000' } })).toHaveLength(2);
});

it.each([
  's3://',
  's3://ab',
  's3://bucket//x',
  's3://bucket/a b',
  's3://bucket/../x',
  's3://bucket/.',
  'https://x',
  'file:',
  '/srv',
])('rejects %s', (url) => {
  expect(problemsOf({ url }, aws)).toEqual([expect.stringContaining('must be `file:` and a path, or `s3://`')]);
});

it.each(['s3://bucket', 's3://a.b-c/', 's3://bucket/x/.y/z_1.0/'])('accepts %s', (url) => {
  expect(problemsOf({ url }, aws)).toEqual([]);
});

it('says what has replaced files.folder', () => {
  expect(problemsOf({ folder: '/srv/files' })).toEqual([
    expect.stringContaining('files.folder: is now files.url: replace it with `url: "file:/srv/files"`'),
  ]);
});

it('treats secrets and tokens as secrets', () => {
  const config = load({ url: 's3://files' }, { ...aws, AWS_SESSION_TOKEN: 'aws-token-1' });
  expect(listSecrets(config)).toEqual(expect.arrayContaining(['aws-secret-key', 'aws-token-1']));
  expect(listSecrets(config)).not.toContain('AKID');
});
