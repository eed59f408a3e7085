import { describe, expect, it } from 'vitest';
import { sniffEncoding } from './sniff-encoding.ts';

const sniff = (page: string): string | undefined => sniffEncoding(Buffer.from(page, 'latin1'));

describe('the encoding that a page names', () => {
  it.each([
    ['<meta charset="windows-1251">', 'windows-1251'],
    ["<META CHARSET='Shift_JIS' />", 'shift_jis'],
    ['<!DOCTYPE html>\n<html><head><title>x</title><meta  charset = koi8-r>', 'koi8-r'],
    ['<meta/charset=x-sjis>', 'shift_jis'],
    ['<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">', 'windows-1251'],
    [`<meta content="text/html; charset='euc-kr'" http-equiv=content-type>`, 'euc-kr'],
    ['<meta name="charset" content="text/html; charset=koi8-r"><meta charset="big5">', 'big5'],
    ['<meta charset="nonsense"><meta charset="gb2312">', 'gbk'],
    ['<meta charset="utf-16le">', 'utf-8'],
    ['<meta charset="x-user-defined">', 'windows-1252'],
    ['<!-- <meta charset="big5"> --><meta charset="koi8-r">', 'koi8-r'],
    ['<!--><meta charset="koi8-r">', 'koi8-r'],
    ['<a title="<meta charset=big5>" href=x></a><meta charset="koi8-r">', 'koi8-r'],
    ['<metadata charset="big5">', undefined],
    ['<meta charset="koi8-r" charset="big5">', 'koi8-r'],
    ['<?xml version="1.0" encoding="windows-1251"?><doc/>', 'windows-1251'],
    ['<?xml version="1.0" encoding="utf-16"?><doc/>', 'utf-8'],
    ['<?xml version="1.0" encoding="big5"?><html><meta charset="koi8-r">', 'koi8-r'],
    ['<?xml version="1.0"?><doc encoding="big5"/>', undefined],
    ['<\0?\0x\0m\0l\0', 'utf-16le'],
    ['\0<\0?\0x\0m\0l', 'utf-16be'],
    ['<html><p>charset=big5', undefined],
    ['charset <meta charset="big5">', undefined],
    ['<!-- <meta charset="big5">', undefined],
    ['<meta charset="', undefined],
  ])('%j is %s', (page, encoding) => {
    expect(sniff(page)).toBe(encoding);
  });

  it('is found beyond the first 1,024 bytes, but not far beyond', () => {
    const page = (length: number) => `<html>${'<link href=x>'.repeat(length / 13)}<meta charset="koi8-r">`;
    expect(sniff(page(13_000))).toBe('koi8-r');
    expect(sniff(page(130_000))).toBeUndefined();
  });
});
