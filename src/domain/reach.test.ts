import { describe, expect, it } from 'vitest';
import { compileHostList } from '../platform/egress/host-list.ts';
import {
  checkNetwork,
  createUrlCheck,
  findAddress,
  findRemoteReference,
  mayReadFiles,
  mayUsePlugin,
  nameUse,
  type Reach,
  stripUrls,
} from './reach.ts';

const limit = (hosts: string[], tools: string[] = []): Reach => ({
  mayUse: (name) => tools.includes(name),
  mayOpen: compileHostList(hosts),
});

describe('the reach of an intern', () => {
  it.each([
    ['http://docs.example.com/a', true],
    ['https://DOCS.example.com.:8443/a', true],
    ['http://docs.example.com@evil.example/', false],
    ['http://evil.example\\@docs.example.com/', false],
    ['http://evil.example#docs.example.com', false],
    ['http://x.docs.example.com/', false],
    ['http://127.0.0.1/', false],
    ['http://0x7f.1/', false],
    ['http://[::1]/', false],
  ])('of the URL %s is checked by its host', (url, isOpen) => {
    const check = createUrlCheck(limit(['docs.example.com']), 'url')!;
    const open = () => check(new URL(url));
    if (isOpen) expect(open).not.toThrow();
    else expect(open).toThrow(expect.objectContaining({ kind: 'permission_denied' }));
  });

  it.each([
    [['docs.example.com'], true],
    [['*.example.org', 'a*.example.org', '*.b.example.org'], true],
    [['example.org'], false],
    [['*'], false],
    [['*.org'], false],
    [['*example.org'], false],
    [['docs.example.com', 'docs.example.co*'], false],
  ])('of a sandbox with %j lies in that of the operator: %s', (domains, isOpen) => {
    const open = () => checkNetwork(limit(['docs.example.com', '*.example.org']), domains, 'allowed_domains');
    if (isOpen) expect(open).not.toThrow();
    else expect(open).toThrow(/`allowed_domains\[\d\]`/);
    expect(() => checkNetwork(limit(['*']), domains, '')).not.toThrow();
    expect(() => checkNetwork(undefined, domains, '')).not.toThrow();
  });

  it('names tools by what they do', () => {
    expect(nameUse({ type: 'web_search_preview' })).toBe('router:web_search');
    expect(nameUse({ type: 'router:web_fetch' })).toBe('router:web_fetch');
    expect(nameUse({ type: 'mcp', server_label: 'docs' })).toBe('mcp:docs');
    expect(nameUse({ type: 'mcp', server_label: 'docs', server_url: 'http://a.example' })).toBe('mcp');
    expect(nameUse({ type: 'mcp', server_label: 'docs', connector_id: 'connector_gmail' })).toBeUndefined();
  });

  it('has plugins and files by their names', () => {
    expect(mayUsePlugin(limit([]), 'web')).toBe(false);
    expect(mayUsePlugin(limit([], ['web']), 'web')).toBe(true);
    expect(mayUsePlugin(limit([], ['router:web_search']), 'web')).toBe(true);
    expect(mayUsePlugin(limit([]), 'context-compression')).toBe(true);
    expect(mayUsePlugin(undefined, 'web')).toBe(true);
    expect(mayReadFiles({ reach: limit([]) })).toBe(false);
    expect(mayReadFiles({ reach: limit([], ['router:files']) })).toBe(true);
    expect(mayReadFiles({})).toBe(true);
  });
});

describe('a query', () => {
  it('keeps the URLs that the caller reaches', () => {
    const query = 'read http://evil.example/?d=1 and https://docs.example.com/a, ftp://x.example';
    expect(stripUrls(limit(['docs.example.com']), query)).toBe('read  and https://docs.example.com/a, ');
    expect(stripUrls(undefined, query)).toBe(query);
  });
});

describe('an address', () => {
  it.each([
    'http://a.example',
    ' //a.example',
    'https:a.example',
    '\\\\a\\b',
    's3://a/b',
    'x http://a.example',
    'data:text/html,x',
    'www.evil.example/x.png',
    'evil.example',
    '10.0.0.1',
    '127.1:80',
    '[::1]/x',
    'localhost/x',
  ])('is found in a value: %j', (text) => {
    expect(findAddress({ a: [1, { b: text }] })).toBe(text);
    expect(findAddress({ a: [{ [text]: 1 }] })).toBe(text);
  });

  it.each(['a fox', 'and/or', '16:9', 'a: b', '', '1.5', 'image/png', 'A house. A fox.'])('is not %j', (text) => {
    expect(findAddress({ a: [text, null, 5, true] })).toBeUndefined();
  });
});

describe('a schema', () => {
  it('names other documents', () => {
    expect(findRemoteReference({ properties: { a: { items: [{ $ref: 'http://a.example' }] } } })).toBe(
      'http://a.example',
    );
    expect(findRemoteReference({ $dynamicRef: 'other.json#/x' })).toBe('other.json#/x');
    expect(
      findRemoteReference({ $ref: '#/$defs/a', $defs: { a: { description: 'http://a.example' } } }),
    ).toBeUndefined();
    expect(findRemoteReference({ properties: { $ref: { type: 'string' } } })).toBeUndefined();
  });
});
