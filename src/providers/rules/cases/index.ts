import { anthropicCases } from './anthropic.ts';
import { mistralCases } from './mistral.ts';
import { openaiCases } from './openai.ts';

export const ruleCases = [...anthropicCases, ...mistralCases, ...openaiCases];
