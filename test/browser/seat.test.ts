import { describe, expect, it } from 'vitest';
import { calls, startModels, whole } from '../gateway.ts';
import { createAgent } from '../rollout/seats/agent.ts';
import { openSeat } from '../rollout/seats/seat.ts';
import { openSite } from '../web/site.ts';
import { findChromium, useChromium } from './chromium.ts';
import { PATIENCE } from './open-playground.ts';
import { isRefused, signedIn } from './open-trace.ts';

const executablePath = findChromium('test/browser/seat.test.ts');

describe.skipIf(executablePath === undefined)('the page of a seat with a model, in Chromium', PATIENCE, () => {
  const openPage = useChromium(executablePath, isRefused);

  it('shows the addresses while it waits, then branches, what the agent said, and where the ledger differs', async () => {
    const { models } = await startModels([
      whole({ content: 'Counting <b>' }),
      calls(['mcp__env__increment', { by: 3 }, 'call_1']),
      whole({ content: 'It shows 1000.' }),
    ]);
    const site = await openSite({ service: { models } });
    const seat = await openSeat(site, { model: 'gpt-test' });
    const { page, problems } = await openPage(await signedIn(site, `/traces/${seat.trace_id}`));
    await page.locator('summary', { hasText: 'The seat for an agent' }).click();
    const panel = page.locator('details', { hasText: 'The seat for an agent' });
    await panel
      .locator('code', { hasText: `${site.url}/v1` })
      .first()
      .waitFor();
    expect(await panel.textContent()).toContain('export ANTHROPIC_BASE_URL=');
    expect(await panel.textContent()).toContain('[model_providers.proctor]');
    expect(await panel.textContent()).not.toContain('seat_');
    const agent = await createAgent(seat);
    const user = { role: 'user', content: 'Count to 3 & say so.' };
    await agent.ask({ model: 'small', messages: [{ role: 'user', content: 'A title, please' }] });
    await agent.say([user], { stream: true });
    await agent.mcp.callTool({ name: 'increment', arguments: { by: 3 } });
    const call = {
      id: 'call_1',
      type: 'function',
      function: { name: 'mcp__env__increment', arguments: '{"by":3}' },
    };
    await agent.say([
      user,
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: call.id, content: '1000' },
    ]);
    await agent.mcp.callTool({ name: 'submit_answer', arguments: { answer: 'It shows 1000.' } });
    await page.locator('#evaluation').waitFor();
    expect(await page.locator('#step-1 .badge').textContent()).toBe('side-1');
    expect(await page.locator('#step-2 .badge').count()).toBe(0);
    await page.locator('#step-2 .agent-input summary').click();
    expect(await page.locator('#step-2 .agent-input').textContent()).toContain('Count to 3 & say so.');
    const difference = page.locator('#step-2 .difference');
    expect(await difference.textContent()).toContain('increment: the agent told its model another result');
    expect(await difference.textContent()).toContain('1000');
    expect(problems).toEqual([]);
    await page.close();
  });
});
