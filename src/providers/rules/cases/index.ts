import { anthropicCases } from './anthropic.ts';
import { hostedCases } from './hosted.ts';
import { mistralCases } from './mistral.ts';
import { openaiCases } from './openai.ts';
import { serverCases } from './servers.ts';

export const ruleCases = [...anthropicCases, ...hostedCases, ...mistralCases, ...openaiCases, ...serverCases];
