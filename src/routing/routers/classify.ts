import type { ResponseRequest } from '../../domain/request.ts';

/** All tasks. @see docs/reference/routers.md#auto */
export const tasks = [
  'code:general_impl',
  'code:debugging',
  'code:file_read_write',
  'code:frontend_ui',
  'code:review_security',
  'code:shell_execution',
  'code:repo_scan',
  'code:sql_database',
  'code:devops_config',
  'agent:workflow_execution',
  'agent:multi_step_planning',
  'agent:tool_dispatch',
  'agent:memory_extraction',
  'agent:web_search',
  'data:extraction',
  'data:transformation',
  'classification_tagging',
  'content_writing',
  'qa_knowledge',
  'conversational_reply',
  'roleplay_fiction',
  'customer_support',
  'summarization',
  'image_prompting',
  'research_report',
  'finance_trading',
  'translation',
  'math',
  'security_audit',
  'devops',
] as const;

export const isTask = (value: unknown): value is string => tasks.some((task) => task === value);

/** Maximum characters of a turn to examine. */
const MAX_CHARACTERS = 5_000;

/** Tasks by tool names, most specific first. */
const byToolName: readonly [RegExp, string][] = [
  [/bash|shell|terminal|exec|run_command/i, 'code:shell_execution'],
  [/apply_patch|edit|write_file|read_file|str_replace/i, 'code:file_read_write'],
  [/grep|glob|list_dir|find_files|search_code/i, 'code:repo_scan'],
  [/web|search|browse|fetch/i, 'agent:web_search'],
  [/memor/i, 'agent:memory_extraction'],
  [/plan|todo/i, 'agent:multi_step_planning'],
  [/workflow/i, 'agent:workflow_execution'],
];

/** Tasks by words of the last user message. The first match wins, so rarer and more certain patterns come first. */
const byWords: readonly [RegExp, string][] = [
  [
    /traceback \(most recent|stack ?trace|segmentation fault|\bat \S+:\d+:\d+|\b\w*(?:error|exception): |doesn'?t (?:work|compile)|\bdebug|\bfix (?:the|this|my) (?:bug|code|test)/i,
    'code:debugging',
  ],
  [/\b(?:code|security) review|review (?:this|my) (?:code|diff|pull request|pr)\b/i, 'code:review_security'],
  [/\bvulnerabilit|\bpentest|\bcve-\d|security audit/i, 'security_audit'],
  [/\bselect\b[\s\S]{1,200}\bfrom\b|\bsql\b|\bpostgres|\bmysql\b|\bdatabase schema/i, 'code:sql_database'],
  [/\bdockerfile|\bkubernetes|\bhelm\b|\bterraform|\bansible|\bci pipeline|github actions/i, 'code:devops_config'],
  [/\bcss\b|\bhtml\b|\breact\b|\bvue\b|\bsvelte\b|\btailwind|\bfront-?end/i, 'code:frontend_ui'],
  [
    /```|\bfunction\b.*\(|\bdef \w+\(|\bclass \w+|\bimplement\b|\brefactor|\bunit tests?\b|\btypescript\b|\bpython\b|\brust\b|\bgolang\b/i,
    'code:general_impl',
  ],
  [
    /\btranslat|übersetz|\btraduc|\bins (?:deutsche|englische)|\binto (?:german|french|spanish|english|japanese|chinese)\b/i,
    'translation',
  ],
  [/\bsummar|\btl;?dr\b|\bzusammenfass/i, 'summarization'],
  [/\bclassif|\bcategori[sz]e|\blabel (?:each|the|these)|\bsentiment\b/i, 'classification_tagging'],
  [/\bextract\b|\bpull out (?:the|all)\b/i, 'data:extraction'],
  [/\b(?:convert|transform|reformat)\b[\s\S]{0,80}\b(?:json|csv|xml|yaml|table)\b/i, 'data:transformation'],
  [/\bimage prompt|\bprompt for (?:an image|midjourney|stable diffusion)/i, 'image_prompting'],
  [/\brole-?play|\bstay in character|\bfan ?fiction/i, 'roleplay_fiction'],
  [/\bstocks?\b|\bportfolio\b|\btrading\b|\bearnings\b|\bhedge\b/i, 'finance_trading'],
  [/\bresearch report|\bliterature review|\bmarket analysis|\bin-depth (?:report|analysis)/i, 'research_report'],
  [/\brefund|\bcustomer (?:support|service)|\bmy order\b/i, 'customer_support'],
  [/\bsolve\b|\bintegral|\bderivative|\bequation|\bprove that|\d\s*[-+*/^=]\s*\d/i, 'math'],
  [/\bwrite (?:a|an|me)\b|\bdraft\b|\bblog post|\bessay\b|\bstory\b|\bpoem\b|\bemail\b/i, 'content_writing'],
  [/^(?:hi|hello|hey|thanks|thank you|good (?:morning|evening)|how are you)\b.{0,60}$/i, 'conversational_reply'],
];

/**
 * Guesses the task of a conversation from the names of its tools and the words of its last user message. Takes
 * microseconds.
 */
export function classifyTask(request: ResponseRequest): string {
  const text = findLastUserText(request);
  const { tools = [] } = request;
  if (tools.length > 0) {
    const names = tools
      .map((tool) => ('name' in tool && typeof tool.name === 'string' ? tool.name : tool.type))
      .join(' ');
    return byToolName.find(([pattern]) => pattern.test(names))?.[1] ?? 'agent:tool_dispatch';
  }
  return byWords.find(([pattern]) => pattern.test(text))?.[1] ?? 'qa_knowledge';
}

function findLastUserText({ input }: ResponseRequest): string {
  const last = input.findLast((item) => item.type === 'message' && 'role' in item && item.role === 'user') as
    | { content?: unknown }
    | undefined;
  const content = last?.content;
  if (typeof content === 'string') return content.slice(0, MAX_CHARACTERS);
  if (!Array.isArray(content)) return '';
  const texts = (content as { text?: unknown }[]).map(({ text }) => (typeof text === 'string' ? text : ''));
  return texts.join('\n').slice(0, MAX_CHARACTERS);
}
