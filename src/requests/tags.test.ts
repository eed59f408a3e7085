import { describe, expect, it } from 'vitest';
import type { GatewayError, Issue } from '../domain/errors.ts';
import { readTags } from './tags.ts';

const keys = ['team', 'feature'];

/** Returns the issues of a request with these tags. */
function findIssues(...given: Parameters<typeof readTags>): Issue[] {
  try {
    readTags(...given);
  } catch (error) {
    return (error as GatewayError).metadata['issues'] as Issue[];
  }
  throw new Error('The tags were accepted.');
}

describe('readTags', () => {
  it('reads the configured keys of the metadata, in the order of the keys', () => {
    expect(readTags(keys, undefined, { team: 'search', user: 'a'.repeat(500), feature: ' top 10 ' })).toEqual({
      feature: 'top 10',
      team: 'search',
    });
    expect(JSON.stringify(readTags(keys, 'team=a,feature=b', null))).toBe('{"feature":"b","team":"a"}');
  });

  it('reads the header, which has precedence for each key', () => {
    expect(readTags(keys, ' team = search:eu/1 ', { team: 'ads', feature: 'chat' })).toEqual({
      team: 'search:eu/1',
      feature: 'chat',
    });
  });

  it('reads numbers and truth values, which some clients send', () => {
    expect(readTags(keys, undefined, { team: 7, feature: true })).toEqual({ team: '7', feature: 'true' });
  });

  it('has no tags without values', () => {
    expect(readTags(keys, undefined, undefined)).toBeUndefined();
    expect(readTags(keys, '', null)).toBeUndefined();
    expect(readTags(keys, undefined, { team: '', feature: null, other: 'x' })).toBeUndefined();
    expect(readTags([], undefined, { team: 'search' })).toBeUndefined();
    expect(readTags(keys, 'team=', { team: 'ads' })).toBeUndefined(); // the header removes it
    expect(readTags(['constructor'], undefined, {})).toBeUndefined();
  });

  it.each([
    ['search', 'Write tags like `team=search, feature=summary`, got "search"'],
    ['team=a,', 'Write tags like `team=search, feature=summary`, got ""'],
    ['=a', 'Write tags like'],
    ['region=eu', '"region" is no tag of this gateway. The tags are `team`, `feature`.'],
    ['Team=a', '"Team" is no tag'],
    ['team=a, team=b', '`team` is named twice.'],
    ['team="a"', 'The value of `team` must be at most 64 letters, digits, spaces and `_.:/@+-`'],
    ['team=a=b', 'The value of `team` must be'],
    [`team=${'a'.repeat(65)}`, 'The value of `team` must be'],
    ['team=caf\u00e9', 'The value of `team` must be'],
  ])('rejects the header %j', (header, message) => {
    expect(findIssues(keys, header, undefined)).toEqual([
      { path: 'x-headgate-tags', message: expect.stringContaining(message) },
    ]);
  });

  it('says that no tags are configured', () => {
    expect(findIssues([], 'team=a', undefined)[0]!.message).toContain('`tags` of the configuration lists none');
  });

  it.each([
    ['a'.repeat(65)],
    ['a\nb'],
    [{ name: 'search' }],
    [['search']],
    ['a"b'],
    ['Süd'],
  ])('rejects the value %j of a configured key in the metadata', (team) => {
    expect(findIssues(keys, undefined, { team, feature: 'chat' })).toEqual([
      { path: 'metadata.team', message: expect.stringContaining('The value of the tag `team` must be') },
    ]);
  });

  it('names the metadata as its API does', () => {
    expect(findIssues(keys, undefined, { team: '%' }, 'labels')[0]!.path).toBe('labels.team');
  });

  it('reads a long header in linear time', () => {
    expect(findIssues(keys, `${' '.repeat(60_000)}x`, undefined)).toHaveLength(1);
  });
});
