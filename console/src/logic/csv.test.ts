import { expect, it } from 'vitest';
import { csvRow } from './csv.ts';

it('quotes cells and leaves numbers as they are', () => {
  expect(csvRow(['a', 'b,"c"', 1.5, null, true])).toBe('a,"b,""c""",1.5,,true\r\n');
});

it('defuses formulas that a caller put into a name', () => {
  expect(csvRow(['=HYPERLINK("x")', '@x', '-1.5', '-cmd'])).toBe(`"'=HYPERLINK(""x"")",'@x,-1.5,'-cmd\r\n`);
});
