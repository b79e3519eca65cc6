import { openEnvironment } from 'proctor/testing';
import { expect, it } from 'vitest';
import BrowserEnvironment from './environment.ts';
import { describeWithChromium } from './test-chromium.ts';

describeWithChromium('environments/browser/tasks.test.ts')('the tasks of the browser', () => {
  it('are a dozen or more, of every split', async () => {
    await using env = await openEnvironment(BrowserEnvironment);
    const tasks = await env.tasks();
    expect(tasks.length).toBeGreaterThanOrEqual(12);
    expect(new Set(tasks.map(({ split }) => split))).toEqual(new Set(['train', 'validation', 'test']));
  });

  it('are solved by their solutions', { timeout: 240_000 }, async () => {
    await using env = await openEnvironment(BrowserEnvironment);
    for (const task of await env.tasks()) expect([task.id, (await env.run(task)).reward]).toEqual([task.id, 1]);
  });
});
