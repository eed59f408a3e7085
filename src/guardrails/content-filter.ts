import { email, creditCard, ipv4, ipv6, phone, ssn } from './entities/detectors.ts';
import type { RecognizedType } from './entities/recognizer.ts';
import type { Detector } from './detector.ts';
import { secretFormats } from './secrets/formats.ts';

/** From mild to strict. */
export const filterActions = ['flag', 'redact', 'block'] as const;
export type FilterAction = (typeof filterActions)[number];

export const isStricter = (action: FilterAction, other: FilterAction): boolean =>
  filterActions.indexOf(action) > filterActions.indexOf(other);

/** Built-in filters that search with expressions. */
export type PatternSlug = 'email' | 'phone' | 'ssn' | 'credit-card' | 'ip-address' | 'secrets';
/** Built-in filters that need an external analyzer. */
export type RecognizedSlug = 'person-name' | 'address';
export const INJECTION_SLUG = 'regex-prompt-injection';
export type BuiltinSlug = PatternSlug | RecognizedSlug | typeof INJECTION_SLUG;

/** What a built-in filter is called in messages, and what replaces its matches. */
interface BuiltinText {
  readonly label: string;
  /** `matched_entity_types` in metadata. */
  readonly entity: string;
  readonly placeholder: string;
}

/** @see docs/reference/guardrails.md#built-in-filters */
export const builtinTexts: Readonly<Record<BuiltinSlug, BuiltinText>> = {
  email: { label: 'Email address', entity: 'EMAIL', placeholder: '[EMAIL]' },
  phone: { label: 'Phone number', entity: 'PHONE', placeholder: '[PHONE]' },
  ssn: { label: 'Social Security number', entity: 'SSN', placeholder: '[SSN]' },
  'credit-card': { label: 'Credit card number', entity: 'CREDIT_CARD', placeholder: '[CREDIT_CARD]' },
  'ip-address': { label: 'IP address', entity: 'IP_ADDRESS', placeholder: '[IP_ADDRESS]' },
  secrets: { label: 'Secret', entity: 'SECRET', placeholder: '[SECRET]' },
  'person-name': { label: 'Person name', entity: 'PERSON', placeholder: '[PERSON_NAME]' },
  address: { label: 'Address', entity: 'LOCATION', placeholder: '[ADDRESS]' },
  [INJECTION_SLUG]: { label: 'Prompt injection', entity: 'PROMPT_INJECTION', placeholder: '[PROMPT_INJECTION]' },
};

/** The entity that the analyzer looks for. */
export const recognizedTypes: Readonly<Record<RecognizedSlug, RecognizedType>> = {
  'person-name': 'PERSON',
  address: 'LOCATION',
};

export const patternDetectors: Readonly<Record<PatternSlug, readonly Detector[]>> = {
  email: [email],
  phone: [phone],
  ssn: [ssn],
  'credit-card': [creditCard],
  'ip-address': [ipv4, ipv6],
  secrets: secretFormats,
};

/** A filter that applies to a text. */
export type ContentFilter =
  | { readonly type: 'builtin'; readonly slug: BuiltinSlug; readonly action: FilterAction }
  | { readonly type: 'custom'; readonly pattern: string; readonly label: string | null; readonly action: FilterAction };

/** Replaces matches of custom patterns. */
export const CUSTOM_PLACEHOLDER = '[REDACTED]';
