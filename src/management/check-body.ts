import { type Static, type TSchema, Type } from 'typebox';
import { invalidRequest } from '../domain/errors.ts';
import { createCheck } from '../schema/create-check.ts';
import { explainIssues } from '../schema/explain-issues.ts';
import { Report } from '../schema/report.ts';

declare const checked: unique symbol;

/** A body that has passed its check. Use cases take nothing else, so that no caller can leave the check out. */
export type CheckedBody<Schema extends TSchema> = Static<Schema> & { readonly [checked]: true };

/** Returns the body, or throws `invalid_request` with every problem. */
export interface BodyCheck<Schema extends TSchema = TSchema> {
  (body: unknown): CheckedBody<Schema>;
  /** For tests and documentation. */
  readonly schema: Schema;
}

/** Creates the check of a body. Schemas should reject unknown fields: a misspelled limit would be no limit. */
export function createBodyCheck<Schema extends TSchema>(schema: Schema): BodyCheck<Schema> {
  const isValid = createCheck(schema);
  const check = (body: unknown) => {
    if (isValid(body)) return body as CheckedBody<Schema>;
    const report = new Report();
    if (body === undefined) report.add('', 'is missing; send a JSON object with content-type application/json');
    else explainIssues(schema, body, '', report);
    // A body that failed its check is rejected, even if there is no explanation.
    if (report.issues.length === 0) report.add('', 'has a shape that the interface does not know');
    throw invalidRequest(report.issues);
  };
  return Object.assign(check, { schema });
}

/** A body that must not have other fields. @param documented keywords of the OpenAPI document for rules across fields */
export const strictBody = <Fields extends Parameters<typeof Type.Object>[0]>(
  fields: Fields,
  documented?: Record<string, unknown>,
) => Type.Object(fields, { additionalProperties: false, ...(documented && { documented }) });

/*
 * Rules across fields are forbidden combinations, `documented: { not: { anyOf: […] } }`: generators of clients read `anyOf` and
 * `allOf` beside fields as other shapes of the body.
 */

/** Both fields are sent. */
export const both = (one: string, other: string) => ({ required: [one, other] });

/** None of the fields is sent. */
export const none = (...fields: string[]) => ({ allOf: fields.map((field) => ({ not: { required: [field] } })) });

/**
 * A name, or an id of another system. It has no control characters and no half surrogate pairs, which some stores
 * cannot hold. The OpenAPI document omits the half pairs: UTF-8 has none, and the engines of Go and Rust reject a pattern
 * that names them.
 */
export const plainText = (limits: { minLength?: number; maxLength: number }) =>
  Type.String({
    ...limits,
    pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\ud800-\\udfff]*$',
    documented: { pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' },
    says: 'must not hold control characters or half surrogate pairs',
  });

/** USD, at most 9 million: JSON numbers express larger amounts of nano-dollars inexactly. */
export const usdAmount = (minimum: number) => Type.Number({ minimum, maximum: 9_000_000 });
