/** The beginning of a text of the system prompt with which a coding agent names itself for the provider's billing. */
export const billingHeader = 'x-anthropic-billing-header';

export const isBillingText = (text: string): boolean => text.startsWith(billingHeader);
