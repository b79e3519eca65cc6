import { openEnvironment } from 'proctor/testing';
import { describe, expect, it } from 'vitest';
import WorkspaceEnvironment from './environment.ts';
import { kinds } from './test-workspace.ts';

describe.each(kinds.slice(0, 1))('the tasks of the workspace (%s)', (sandbox) => {
  const open = () => openEnvironment(() => new WorkspaceEnvironment({ sandbox }));

  it('are a dozen, two on each module, which are one cluster', async () => {
    await using env = await open();
    const tasks = await env.tasks();
    expect(tasks).toHaveLength(12);
    expect(new Set(tasks.map(({ cluster }) => cluster)).size).toBe(6);
    expect(tasks.filter(({ split }) => split === 'test').map(({ id }) => id)).toEqual([
      'letter',
      'letter-blind',
      'roman',
      'roman-blind',
    ]);
  });

  it('are solved by their solutions', { timeout: 120_000 }, async () => {
    await using env = await open();
    for (const task of await env.tasks()) expect([task.id, (await env.run(task)).reward]).toEqual([task.id, 1]);
  });
});
