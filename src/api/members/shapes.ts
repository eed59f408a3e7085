import { Type } from 'typebox';
import { named } from '../../openapi/schema-writer.ts';
import { inData, listOf, rateLimitAmounts, text, time } from '../../openapi/shapes.ts';

const member = named('Member', Type.Object({ id: text, ...rateLimitAmounts, created_at: time }));
export const oneMember = inData(member);
export const memberList = listOf(member);
