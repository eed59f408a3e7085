import { Type } from 'typebox';
import { text } from '../../openapi/shapes.ts';

export const health = Type.Object({ status: Type.Literal('ok'), name: text, version: text });
export const readiness = Type.Object({
  status: Type.Literal('ready'),
  workers: Type.Optional(text),
  store: Type.Optional(text),
  access: Type.Optional(text),
  ledger: Type.Optional(text),
  exports: Type.Optional(text),
  counters: Type.Optional(text),
  clock: Type.Optional(text),
});
