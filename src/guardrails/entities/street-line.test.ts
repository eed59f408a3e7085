import { describe, expect, it } from 'vitest';
import { extendOverStreet } from './street-line.ts';

/** `[ ]` are around the place that the analyzer finds. */
function extend(marked: string): string {
  const start = marked.indexOf('[');
  const text = marked.replaceAll(/[[\]]/g, '');
  const place = extendOverStreet(text, start, marked.indexOf(']') - 1);
  return text.slice(place.start, place.end);
}

describe('a recognized place', () => {
  it.each([
    ['She lives at 221B Baker Street, [London].', '221B Baker Street, London'],
    ['Send it to 12 rue de la Paix, 75002 [Paris]', '12 rue de la Paix, 75002 Paris'],
    ['wohnt in der Lange Straße 12, 10115 [Berlin]', 'Lange Straße 12, 10115 Berlin'],
    ['Hauptstraße 5\n[München]', 'Hauptstraße 5\nMünchen'],
    ['Ada Lovelace, 12 Baker Street, [London]', '12 Baker Street, London'],
    ['abito in Via Roma 5, [Milano]', 'Via Roma 5, Milano'],
    ['[Москва], ул. Ленина, 5 и дальше', 'Москва, ул. Ленина, 5'],
    ['[Amsterdam], Prinsengracht 263 is a museum', 'Amsterdam, Prinsengracht 263'],
  ])('extends over the street line in %s', (marked, place) => {
    expect(extend(marked)).toBe(place);
  });

  it.each([
    'I have 3 friends in [London].',
    'It is on the way to [Paris], in 2024',
    'In 2019 [Berlin] won.',
    'see [Lyon] at 5 km/h on the street',
    '[Rome]',
  ])('stays as it is in %s', (marked) => {
    expect(extend(marked)).toBe(/\[(.*)\]/.exec(marked)![1]);
  });

  it('extends in constant time, whatever is next to it', () => {
    const text = `${'12 Baker Street, '.repeat(50_000)}London`;
    const { start, end } = extendOverStreet(text, text.length - 6, text.length);
    expect(text.length - start).toBeLessThan(200);
    expect(end).toBe(text.length);
  });
});
