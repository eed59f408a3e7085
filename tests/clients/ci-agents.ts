import type { Agent } from './agent-seat.ts';
import { claude } from './claude-cli.ts';
import { codex } from './codex-cli.ts';
import { npmAgents } from './npm-agents.ts';
import { opencode } from './opencode-cli.ts';

/** The coding agents that CI installs. */
export const ciAgents: readonly Agent[] = [codex, claude, opencode, ...npmAgents.filter(({ isInCi }) => isInCi)];
