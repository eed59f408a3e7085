import { BlockList, isIP } from 'node:net';
import type { Detector } from '../detector.ts';

/** Latin, Greek and Cyrillic letters. Scripts without spaces between words are left out: there an address has no beginning. */
const letter = 'A-Za-zÀ-ÖØ-öø-ɏͰ-ϿЀ-ӿ';
const label = `[${letter}\\d](?:[${letter}\\d-]*[${letter}\\d])?`;
const local = `[${letter}\\d_%+'-]`;

const digitsOf = (text: string): string => text.replace(/\D/g, '');

/** Addresses of up to 320 characters, internationalized ones included. */
export const email: Detector = {
  id: 'EMAIL',
  source: `(?<![${letter}\\d_%+-])[${letter}\\d_%+-]${local}*(?:\\.${local}+)*@(?:${label}\\.)+[${letter}]{2,24}(?![${letter}\\d_])`,
  maxLength: 320,
};

/**
 * North American numbers, and international ones that begin with `+`. A longer chain of digit groups is matched as a whole,
 * so that `check` can reject it.
 */
export const phone: Detector = {
  id: 'PHONE',
  source: String.raw`(?<![\w.+\/-])(?:(?:\+?1[-. ]?)?(?:\([2-9]\d\d\) ?|[2-9]\d\d[-. ]?)[2-9]\d\d[-. ]?\d{4}|\+[1-9]\d{0,2}(?:[-. ]?\(?\d{1,4}\)?){2,7})(?:[-.\/]\d+|:[\w\-]{10,})*(?![\w\/])`,
  maxLength: 64,
  check(text) {
    const { length } = digitsOf(text);
    return text.startsWith('+') ? length >= 8 && length <= 15 : length === 10 || (length === 11 && /^1/.test(text));
  },
};

/** Area 000 and 666, group 00 and serial 0000 are never assigned. */
export const ssn: Detector = {
  id: 'SSN',
  source: String.raw`(?<![\w-])\d{3}-\d{2}-\d{4}(?:-\d+)*(?!\w)`,
  maxLength: 64,
  check: (text) => text.length === 11 && !/^(?:000|666)|-00-|-0000$/.test(text),
};

/** 16 digits in groups of four, or 15 of American Express, that pass the Luhn check. */
export const creditCard: Detector = {
  id: 'CREDIT_CARD',
  source: String.raw`(?<![\w.+-])(?:(?:2[2-7]|[3-6]\d)\d\d[ -]?\d{4}[ -]?\d{4}[ -]?\d{4}|3[47]\d\d[ -]?\d{6}[ -]?\d{5})(?:[-.]\d+)*(?!\w)`,
  maxLength: 64,
  check: (text) => !text.includes('.') && isLuhn(digitsOf(text)),
};

export function isLuhn(digits: string): boolean {
  if (digits.length < 13 || digits.length > 19 || /^(\d)\1+$/.test(digits)) return false;
  let sum = 0;
  for (let index = 0; index < digits.length; index++) {
    const digit = digits.charCodeAt(digits.length - 1 - index) - 48;
    const weighted = index % 2 === 1 ? 2 * digit : digit;
    sum += weighted > 9 ? weighted - 9 : weighted;
  }
  return sum % 10 === 0;
}

/** Addresses that belong to no person: this machine, any machine, and the examples of documentation (RFC 5737, 3849, 9637). */
const impersonal = new BlockList();
for (const [address, bits] of [
  ['127.0.0.0', 8],
  ['0.0.0.0', 32],
  ['192.0.2.0', 24],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
] as const) {
  impersonal.addSubnet(address, bits, 'ipv4');
}
for (const [address, bits] of [
  ['::', 127], // and ::1
  ['2001:db8::', 32],
  ['3fff::', 20],
] as const) {
  impersonal.addSubnet(address, bits, 'ipv6');
}

/** Versions such as 1.2.3.4 and 120.0.0.0. The addresses of this form belong to networks and to services such as 8.8.8.8. */
const versionLike = /^(?:\d\.\d\.\d\.\d|(?!10\.)\d+\.0\.0\.0)$/;

/** Dotted versions such as 1.2.3.4.5 are matched as a whole, so that `check` can reject them. */
export const ipv4: Detector = {
  id: 'IP_ADDRESS',
  source: String.raw`(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?:\.\d+)*(?!\w)`,
  maxLength: 64,
  check: (text) => isIP(text) === 4 && !impersonal.check(text) && !versionLike.test(text),
};

/** Without a digit it is more likely a name with `::` of a programming language. */
export const ipv6: Detector = {
  id: 'IP_ADDRESS',
  source: String.raw`(?<![\w:.])(?:[\da-fA-F]{0,4}:){2,8}(?:[\da-fA-F]{1,4}|\d{1,3}(?:\.\d{1,3}){3})?(?:[:.]+[\da-fA-F]+)*(?![\w:])`,
  maxLength: 64,
  check: (text) => isIP(text) === 6 && /\d/.test(text) && !impersonal.check(text, 'ipv6'),
};
