import { describe, expect, it } from 'vitest';
import { read } from '../../../tests/routing/call-router.ts';
import type { Tool } from '../../domain/items.ts';
import { classifyTask, tasks } from './classify.ts';

const message = (content: unknown, role = 'user') => ({ type: 'message', role, content });
const task = (question: unknown) => classifyTask(read({ input: [message(question)] }));

describe('the task of a conversation', () => {
  it.each([
    ['Why? Traceback (most recent call last): File "x.py"', 'code:debugging'],
    ['TypeError: undefined is not a function', 'code:debugging'],
    ['My script doesn’t start. Please debug it', 'code:debugging'],
    ['Fix this bug in the parser', 'code:debugging'],
    ['Review this pull request', 'code:review_security'],
    ['Is this vulnerable to CVE-2026-1234?', 'security_audit'],
    ['SELECT name FROM people: make it faster', 'code:sql_database'],
    ['How do I add an index in Postgres?', 'code:sql_database'],
    ['Write a Dockerfile for a Go service', 'code:devops_config'],
    ['Center a div with CSS', 'code:frontend_ui'],
    ['```\nconst a = 1;\n``` shorter?', 'code:general_impl'],
    ['Implement a queue in Rust', 'code:general_impl'],
    ['Translate to Italian: good night', 'translation'],
    ['Say "where is the station" in polite form and put it into Japanese', 'translation'],
    ['Traduce esto, por favor', 'translation'],
    ['Übersetze das bitte', 'translation'],
    ['Summarise this chapter', 'summarization'],
    ['Summarize: …', 'summarization'],
    ['tl;dr please', 'summarization'],
    ['Classify these tickets by urgency', 'classification_tagging'],
    ['Extract all names from the letter', 'data:extraction'],
    ['Convert this list to CSV', 'data:transformation'],
    ['Give me a prompt for Midjourney, a foggy harbour', 'image_prompting'],
    ['Let us roleplay: you are a pirate', 'roleplay_fiction'],
    ['Should I hedge my portfolio?', 'finance_trading'],
    ['Prepare an in-depth report on batteries', 'research_report'],
    ['What is 12 * 7?', 'math'],
    ['Solve x for me', 'math'],
    ['Prove that there are infinitely many primes', 'math'],
    ['Write a poem about rain', 'content_writing'],
    ['Draft a reply to my landlord', 'content_writing'],
    ['Hello there!', 'conversational_reply'],
    ['Thanks', 'conversational_reply'],
    ['Who wrote Faust?', 'qa_knowledge'],
    ['', 'qa_knowledge'],
  ])('%j is %s', (question, expected) => expect(task(question)).toBe(expected));

  it.each<[Tool[], string]>([
    [[{ type: 'function', name: 'weather', parameters: null } as Tool], 'agent:tool_dispatch'],
    [[{ type: 'function', name: 'run_command', parameters: null } as Tool], 'code:shell_execution'],
    [[{ type: 'function', name: 'apply_patch', parameters: null } as Tool], 'code:file_read_write'],
    [[{ type: 'function', name: 'glob', parameters: null } as Tool], 'code:repo_scan'],
    [[{ type: 'function', name: 'remember_memory', parameters: null } as Tool], 'agent:memory_extraction'],
    [[{ type: 'function', name: 'todo_write', parameters: null } as Tool], 'agent:multi_step_planning'],
    [[{ type: 'function', name: 'start_workflow', parameters: null } as Tool], 'agent:workflow_execution'],
    [[{ type: 'web_search' } as Tool], 'agent:web_search'],
    [
      [{ type: 'web_search' } as Tool, { type: 'function', name: 'bash', parameters: null } as Tool],
      'code:shell_execution',
    ],
  ])('tools win over words: %j is %s', (tools, expected) => {
    expect(classifyTask(read({ input: [message('Translate this')], tools }))).toBe(expected);
  });

  it('ignores an empty list of tools', () => {
    expect(classifyTask(read({ input: [message('Translate this')], tools: [] }))).toBe('translation');
  });

  it('comes from the last user message', () => {
    const input = [message('Translate this'), message('Solve it', 'assistant'), message('Write a poem about it')];
    expect(classifyTask(read({ input: [...input, message('SELECT', 'developer')] }))).toBe('content_writing');
  });

  it('comes from all text parts, and from the first 5,000 characters', () => {
    const parts = [
      { type: 'input_image', image_url: 'data:' },
      { type: 'input_text', text: 'Summarize this' },
    ];
    expect(task(parts)).toBe('summarization');
    expect(task(`${'x '.repeat(2500)}Summarize this`)).toBe('qa_knowledge');
    expect(task(`${'x '.repeat(2400)}Summarize this`)).toBe('summarization');
  });

  it('is knowledge without a user message', () => {
    expect(classifyTask(read({}))).toBe('qa_knowledge');
    expect(task(null)).toBe('qa_knowledge');
  });

  it('is one of 30 tags, each once', () => {
    expect(tasks).toHaveLength(30);
    expect(new Set(tasks).size).toBe(30);
  });

  it('is found fast for any text', () => {
    const odd = [
      'a'.repeat(5000),
      'select '.repeat(700),
      'function '.repeat(550),
      `${'1 '.repeat(2500)}`,
      'error'.repeat(1000),
    ];
    const before = performance.now();
    for (const text of odd) task(text);
    expect(performance.now() - before).toBeLessThan(10_000);
  });
});
