import { mistralCases } from './mistral.ts';
import { openaiCases } from './openai.ts';

export const ruleCases = [...mistralCases, ...openaiCases];
