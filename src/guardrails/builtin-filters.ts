import {
  type BuiltinSlug,
  type FilterAction,
  filterActions,
  INJECTION_SLUG,
  type PatternSlug,
  type RecognizedSlug,
} from '../domain/content-filter.ts';
import type { Detector } from './detector.ts';
import { creditCard, email, ipv4, ipv6, phone, ssn } from './entities/detectors.ts';
import type { RecognizedType } from './entities/recognizer.ts';
import { secretFormats } from './secrets/formats.ts';

export const isStricter = (action: FilterAction, other: FilterAction): boolean =>
  filterActions.indexOf(action) > filterActions.indexOf(other);

/** The name of a built-in filter in messages, and the replacement of its matches. */
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

/** Replaces matches of custom patterns. */
export const CUSTOM_PLACEHOLDER = '[REDACTED]';
