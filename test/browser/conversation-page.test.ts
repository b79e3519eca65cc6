import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../src/contract/service/event.ts';
import { begin, toEvents } from '../web/trace-parts.ts';
import { findChromium, useChromium } from './chromium.ts';
import { PATIENCE } from './open-playground.ts';
import { isRefused, openSiteWith } from './open-trace.ts';

const executablePath = findChromium('test/browser/conversation-page.test.ts');

const USAGE = { model_calls: 1, prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, cost_usd: 0.001 };

function says(turn: number, message: string, parts: Partial<Extract<EventBody, { type: 'user.responded' }>> = {}) {
  const reply = { turn, message, is_over: false, model: 'gpt-user', calls: [], usage: USAGE, duration_ms: 700 };
  return { type: 'user.responded', ...reply, ...parts } satisfies EventBody;
}

const REPLY = 'To <b>Madrid</b>, please.';
const CONVERSATION: readonly EventBody[] = [
  ...begin('travel', 'You are the desk.', 'Hello.', ['book']),
  ...toEvents(1, { text: 'Where do you want to go?', ms: 900 }),
  says(1, REPLY, { calls: [{ name: 'look_at_ticket', arguments: { id: 7 }, text: 'Seat 3A', is_error: false }] }),
  { type: 'turn.started', turn: 2, messages: [{ role: 'user', content: REPLY }] },
  ...toEvents(2, { text: 'It is booked.', ms: 900 }).map((event) => ('turn' in event ? { ...event, turn: 2 } : event)),
  says(2, 'Thank you.', { is_over: true }),
  { type: 'answer.submitted', answer: 'It is booked.' },
  {
    type: 'judge.failed',
    model: 'gpt-judge',
    key: 'b'.repeat(64),
    rubric: 'The agent named the fee.',
    material: 'It is booked.',
    message: 'The judge gpt-judge refused: I <u>will</u> not.',
    usage: USAGE,
    duration_ms: 300,
  },
  {
    type: 'judge.responded',
    model: 'gpt-judge',
    key: 'a'.repeat(64),
    rubric: 'The agent is polite.',
    material: 'It is booked.',
    scale: 'boolean',
    score: 2 / 3,
    agreement: 2 / 3,
    votes: [
      { score: 1, reason: 'It says so kindly.' },
      { score: 0, reason: 'It <i>never</i> greets.' },
      { score: 1, reason: 'It is short, and polite.' },
    ],
    usage: USAGE,
    duration_ms: 1_200,
  },
  {
    type: 'evaluation.completed',
    evaluation: { reward: 1, done: true, content: null, info: {}, subscores: [], is_error: false },
    duration_ms: 1_300,
  },
  { type: 'run.finished', status: 'completed', stop_reason: 'answered', reward: 1, error: null },
];

describe.skipIf(executablePath === undefined)('the page of a conversation, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  it('tells user, agent and judge apart, each reply once, and shows every vote with its reason', async () => {
    const { address } = await openSiteWith(CONVERSATION);
    const { page, problems } = await openPage(address);
    await page.locator('#evaluation').waitFor();
    const cards = await page
      .locator('.transcript article')
      .evaluateAll((found) => found.map(({ ariaLabel }) => ariaLabel));
    expect(cards.filter((label) => ['User', 'Judge', 'Turn 2'].includes(String(label)))).toEqual([
      'User',
      'User',
      'Judge',
      'Judge',
    ]);
    const reply = page.locator('#turn-2');
    expect(await reply.textContent()).toContain('gpt-user');
    await reply.locator('summary').click();
    expect(await reply.textContent()).toContain('Seat 3A');
    // Somebody else's text is no page of ours.
    expect(await reply.textContent()).toContain(REPLY);
    expect(await reply.locator('b').count()).toBe(0);
    expect(await page.locator('#user-2').textContent()).toContain('ended the conversation');
    const votes = page.locator('.voice-judge .votes li');
    expect(await votes.count()).toBe(3);
    expect(await votes.nth(1).textContent()).toContain('It <i>never</i> greets.');
    const [failed = '', given = ''] = await page.locator('.voice-judge').allTextContents();
    expect(failed).toContain('no verdict');
    expect(failed).toContain('I <u>will</u> not.');
    expect(given).toContain('agreement 0.667');
    const totals = await page.locator('.trace-totals').textContent();
    expect(totals).toContain("User's cost$0.0020 2 calls");
    expect(totals).toContain("Judge's cost$0.0020 2 calls");
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBe(0);
    const picture = process.env.PROCTOR_TEST_PICTURE;
    if (picture !== undefined) await page.screenshot({ path: picture, fullPage: true });
    expect(problems).toEqual([]);
    await page.close();
  });
});
