import { describe, expect, it } from 'vitest';
import { readDataUrl, typeOfName } from './data-url.ts';

describe('readDataUrl', () => {
  it.each([
    ['data:image/png;base64,AAAA', { mediaType: 'image/png', isBase64: true, data: 'AAAA' }],
    ['DATA:Image/PNG;BASE64,AAAA', { mediaType: 'image/png', isBase64: true, data: 'AAAA' }],
    [
      'data:text/plain;charset=utf-8;base64,QQ==',
      { mediaType: 'text/plain', charset: 'utf-8', isBase64: true, data: 'QQ==' },
    ],
    ['data:;base64,QQ==', { mediaType: '', isBase64: true, data: 'QQ==' }],
    ['data:,a,b', { mediaType: '', isBase64: false, data: 'a,b' }],
    ['data:text/plain;base64x,a', { mediaType: 'text/plain', isBase64: false, data: 'a' }],
  ])('splits %s', (url, parts) => {
    expect(readDataUrl(url)).toEqual(parts);
  });

  it.each([
    'AAAA',
    'https://example.com/,',
    ' data:,a',
    'data:image/png;base64',
    `data:${'a;'.repeat(4_000_000)}base64,AAAA`,
  ])('returns undefined for what is no data URL or has an endless head', (text) => {
    expect(readDataUrl(text)).toBeUndefined();
  });
});

it.each([
  ['a.PDF', 'application/pdf'],
  ['dir.x/photo.jpeg', 'image/jpeg'],
  ['pdf', 'application/pdf'],
  ['a.', undefined],
  ['a.constructor', undefined],
])('typeOfName(%s) is %s', (name, type) => {
  expect(typeOfName(name)).toBe(type);
});
