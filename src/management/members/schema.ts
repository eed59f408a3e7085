import { Type } from 'typebox';
import { type CheckedBody, createBodyCheck, plainText, strictBody } from '../check-body.ts';
import { rateLimitFields } from '../rate-limit-fields.ts';

const updateMember = strictBody({ ...rateLimitFields });

const memberIds = strictBody({
  user_ids: Type.Array(plainText({ minLength: 1, maxLength: 256 }), { minItems: 1, maxItems: 100 }),
});

export type UpdateMemberBody = CheckedBody<typeof updateMember>;
export type MemberIdsBody = CheckedBody<typeof memberIds>;
export const checkUpdateMember = createBodyCheck(updateMember);
export const checkMemberIds = createBodyCheck(memberIds);
