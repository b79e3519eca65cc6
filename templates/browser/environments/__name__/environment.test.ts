import { expectSound, openEnvironment, scriptedModel } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import { findChromium } from './chromium.ts';
import environment from './environment.ts';
import { Theatre } from './theatre.ts';

const hasChromium = findChromium() !== undefined;
if (!hasChromium) console.warn('Skipped: there is no Chromium. Install it, or set PROCTOR_CHROMIUM to its path.');

describe('the page', () => {
  it('takes a reservation, once for each seat', async () => {
    const theatre = new Theatre();
    await theatre.open();
    try {
      const reserve = (seat: string, name: string) =>
        fetch(theatre.address, { method: 'POST', body: new URLSearchParams({ seat, name }) });
      expect(await (await reserve('A1', '<Ada>')).text()).toContain('A1 (&#60;Ada&#62;)');
      await reserve('A1', 'Grace');
      await reserve('Z9', 'Grace');
      await reserve('A2', ' ');
      expect(theatre.reservations).toEqual([{ seat: 'A1', name: '<Ada>' }]);
    } finally {
      theatre.close();
    }
  });
});

describe.skipIf(!hasChromium)('in the browser', { timeout: 60_000 }, () => {
  const args = { seat: 'B3', name: 'Ada' };

  it('shows the page as text and as an image of the size of the display', async () => {
    await using env = await openEnvironment(environment, { meta: { display_width: 640, display_height: 480 } });
    await env.setup('reserve', args);
    expect((await env.agent.call('look')).text).toContain('Reserve a seat');
    const { content } = await env.agent.call('screenshot');
    expect(content).toMatchObject([{ type: 'image', mimeType: 'image/png' }]);
    const png = Buffer.from(String(content[0]?.data), 'base64');
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([640, 480]);
    const missing = await env.agent.call('click', { name: 'Cancel' });
    expect(missing).toMatchObject({ is_error: true, text: expect.stringContaining('That did not work') });
  });

  it('gives its own solution a reward of 1', async () => {
    await using env = await openEnvironment(environment);
    expect(await env.run('reserve', args)).toMatchObject({ error: null, reward: 1 });
  });

  it('gives the solution of every task a reward of 1', async () => {
    await using env = await openEnvironment(environment);
    for (const task of await env.tasks()) expect(await env.run(task)).toMatchObject({ error: null, reward: 1 });
  });

  it('gives an agent that does nothing, or takes another seat, no reward', async () => {
    await using env = await openEnvironment(environment);
    expect(await env.run('reserve', args, { model: 'proctor/noop' })).toMatchObject({ error: null, reward: 0 });
    const calls = [
      { name: 'fill', arguments: { label: 'Name', text: 'Ada' } },
      { name: 'click', arguments: { name: 'B2' } },
      { name: 'click', arguments: { name: 'Reserve' } },
    ];
    const model = scriptedModel([{ toolCalls: calls }, 'Done.']);
    expect(await env.run('reserve', args, { model })).toMatchObject({
      error: null,
      reward: 0,
      evaluation: { info: { reservations: ['B2 Ada'] } },
    });
  });

  // A session takes seconds: `npx proctor check` tries all that there is no time for here.
  it('has rewards that mean something', { timeout: 120_000 }, async () => {
    await expectSound(environment, { tasks: 1, maxMs: 30_000 });
  });
});
