import { Type } from 'typebox';
import { oneOf } from '../../schema/shapes.ts';
import { secretScopes } from '../../vault/effective.ts';
import { flag, inData, text, time } from '../../openapi/shapes.ts';

const fields = {
  name: text,
  hosts: Type.Array(text),
  locations: Type.Array(text),
  fingerprint: text,
  created_at: time,
};
const secret = Type.Object(fields);
const list = (schema: Parameters<typeof Type.Array>[0]) => Type.Object({ data: Type.Array(schema), has_more: flag });

export const oneSecret = inData(secret);
export const secretList = list(secret);
export const copiedSecrets = inData(Type.Array(secret));
export const effectiveSecretList = list(Type.Object({ ...fields, scope: oneOf(...secretScopes) }));
