import { createHash } from 'node:crypto';
import { array, assert, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { estimateTokens } from './estimate-tokens.ts';

/** Texts, and their numbers of tokens with the tokenizer `o200k_base`. */
const texts: [name: string, text: string, tokens: number][] = [
  [
    'English',
    'The harbor was quiet when the ferry came in. Most of the passengers had slept through the crossing, and only a few of them stood at the rail to watch the lights of the town draw nearer.',
    40,
  ],
  [
    'TypeScript',
    "export function readLimit(value: unknown, path: string): number {\n  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0) {\n    throw new ConfigError(path + ': must be an integer of 0 or more');\n  }\n  return value;\n}\n",
    62,
  ],
  [
    'JSON',
    '[{"id":"item_4711","name":"Ada Lovelace","price":12.5,"active":true,"tags":["new","sale"],"created_at":1700000000},{"id":"item_4712","name":"Grace Hopper","price":7.25,"active":false,"tags":[],"created_at":1700086400}]',
    74,
  ],
  [
    'German',
    'Der Hafen war ruhig, als die Fähre einlief. Die meisten Fahrgäste hatten die Überfahrt verschlafen, und nur wenige standen an der Reling und sahen zu, wie die Lichter der Stadt näher kamen.',
    46,
  ],
  [
    'Chinese',
    '渡轮靠岸的时候，港口很安静。大多数乘客一路都在睡觉，只有几个人站在栏杆旁，看着小镇的灯光越来越近。一位提着箱子的老人问，这个时间还有没有火车。没有人知道。',
    59,
  ],
  [
    'Japanese',
    'フェリーが着いたとき、港は静かだった。乗客のほとんどは船の中で眠っていて、手すりのそばに立って近づいてくる町の明かりを眺めていたのは数人だけだった。',
    62,
  ],
  [
    'Korean',
    '여객선이 들어왔을 때 항구는 조용했다. 승객 대부분은 건너오는 동안 잠을 잤고, 몇 사람만이 난간에 서서 가까워지는 마을의 불빛을 바라보고 있었다.',
    51,
  ],
  [
    'Russian',
    'Когда паром подошёл к берегу, в гавани было тихо. Почти все пассажиры проспали дорогу, и лишь немногие стояли у перил и смотрели, как приближаются огни города.',
    49,
  ],
  [
    'Arabic',
    'كان الميناء هادئًا عندما وصلت العبّارة. نام معظم الركاب طوال الرحلة، ولم يقف عند الحاجز سوى عدد قليل منهم لمشاهدة أضواء المدينة وهي تقترب.',
    45,
  ],
  [
    'Hindi',
    'जब नौका किनारे पर पहुँची, तब बंदरगाह शांत था। अधिकतर यात्री पूरे रास्ते सोते रहे थे, और उनमें से कुछ ही लोग रेलिंग के पास खड़े होकर शहर की रोशनी को पास आते देख रहे थे।',
    54,
  ],
  ['Thai', 'เมื่อเรือข้ามฟากมาถึง ท่าเรือก็เงียบสงบ ผู้โดยสารส่วนใหญ่หลับไปตลอดทาง', 31],
  ['emoji', '😀🚀🔥👍🏽❤️🎉😂🙏👩‍💻🌍✨💡📦🥳🤖🍕🏆', 32],
  ['base64', ['1', '2'].map((text) => createHash('sha512').update(text).digest('base64')).join(''), 126],
  ['digits', '3.14159265358979, 2.71828182845904, 1.41421356237309', 25],
];

describe('an estimate of tokens', () => {
  it.each(texts)('of %s is within 25 %% of what a tokenizer counts', (_name, text, tokens) => {
    expect(estimateTokens([text]) / tokens).toBeGreaterThan(0.8);
    expect(estimateTokens([text]) / tokens).toBeLessThan(1.25);
  });

  it.each(texts)('of a long text in %s, of which it reads pieces, is that of its parts', (_name, text) => {
    const exact = estimateTokens([text]) / text.length;
    const long = `${text}\n`.repeat(Math.ceil(200_000 / text.length));
    expect(estimateTokens([long]) / long.length / exact).toBeGreaterThan(0.85);
    expect(estimateTokens([long]) / long.length / exact).toBeLessThan(1.15);
  });

  it('of many short texts is that of one long text', () => {
    const [, english] = texts[0]!;
    const words = `${english} `.repeat(100).split(/(?= )/);
    const one = estimateTokens([words.join('')]);
    expect(estimateTokens(words) / one).toBeGreaterThan(0.85);
    expect(estimateTokens(words) / one).toBeLessThan(1.15);
  });

  it('of long texts in two scripts counts each by its share', () => {
    const [english, chinese] = ['English', 'Chinese'].map((script) => {
      const text = texts.find(([name]) => name === script)![1];
      return text.repeat(Math.ceil(20_000 / text.length));
    });
    const apart = estimateTokens([english!]) + estimateTokens([chinese!]);
    expect(estimateTokens([english!, chinese!]) / apart).toBeGreaterThan(0.9);
    expect(estimateTokens([english!, chinese!]) / apart).toBeLessThan(1.1);
  });

  it('of an indentation is small', () => expect(estimateTokens([`\n${' '.repeat(40)}x`])).toBeLessThan(4));

  it('is 0 only without any text, and finite for any text', () => {
    expect(estimateTokens([])).toBe(0);
    expect(estimateTokens(['', ''])).toBe(0);
    assert(
      property(array(string({ unit: 'binary', maxLength: 4000 }), { maxLength: 5 }), (parts) => {
        const tokens = estimateTokens(parts);
        const { length } = parts.join('');
        expect(tokens).toBeGreaterThanOrEqual(length * 0.05);
        expect(tokens).toBeLessThanOrEqual(length * 1.25);
      }),
    );
    expect(estimateTokens(['\ud800'.repeat(5000)])).toBeGreaterThan(0); // halves of surrogate pairs
  });
});
