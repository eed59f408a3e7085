import { Type } from 'typebox';
import { type CheckedBody, createBodyCheck, strictBody, usdAmount } from '../check-body.ts';

/** The minimum is a nano-dollar: a budget of 0 would reject every request. */
const putBudget = strictBody({ limit_usd: usdAmount(1e-9), include_byok_in_budgets: Type.Optional(Type.Boolean()) });

export type PutBudgetBody = CheckedBody<typeof putBudget>;
export const checkPutBudget = createBodyCheck(putBudget);
