import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEnvironment } from 'proctor/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ownDataDirectory } from './desk/data-directory.ts';
import RetailEnvironment from './environment.ts';

/** A copy of the small shop with another list of splits. */
function shopWith(splits: object | undefined): string {
  const directory = mkdtempSync(join(tmpdir(), 'proctor-retail-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  cpSync(ownDataDirectory, directory, { recursive: true });
  if (splits === undefined) rmSync(join(directory, 'split_tasks.json'));
  else writeFileSync(join(directory, 'split_tasks.json'), JSON.stringify(splits));
  vi.stubEnv('RETAIL_DATA', directory);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
  return directory;
}

async function splitsOf(): Promise<Record<string, string | null>> {
  await using env = await openEnvironment(RetailEnvironment, { onLog: () => {} });
  return Object.fromEntries((await env.tasks('task')).map(({ id, split }) => [id, split]));
}

describe('the tasks of the desk', () => {
  it('are those of its shop, in its splits, by the tools that they need', async () => {
    await using env = await openEnvironment(RetailEnvironment);
    const tasks = await env.tasks('task');
    expect(tasks.map(({ id, split }) => [id, split])).toEqual([
      ['1', 'train'],
      ['2', 'train'],
      ['3', 'train'],
      ['4', 'train'],
      ['5', 'test'],
      ['6', 'test'],
    ]);
    expect(tasks[0]?.tags).toEqual(['cancel_pending_order']);
    expect(new Set(tasks.flatMap(({ tags }) => tags)).size).toBeGreaterThan(4);
  });

  it('are solved by their solutions', async () => {
    await using env = await openEnvironment(RetailEnvironment);
    for (const task of await env.tasks()) expect([task.id, (await env.run(task)).reward]).toEqual([task.id, 1]);
  });

  it('are in no split where the shop has no list of splits', async () => {
    shopWith(undefined);
    expect(await splitsOf()).toEqual({ 1: null, 2: null, 3: null, 4: null, 5: null, 6: null });
  });

  it('are in the splits of the list, which may name tasks that are not there, and lists of other names', async () => {
    shopWith({ train: ['2', '77'], test: ['5'], base: ['2', '5'], validation: [] });
    expect(await splitsOf()).toEqual({ 1: null, 2: 'train', 3: null, 4: null, 5: 'test', 6: null });
  });

  it('are refused where one is in two splits', async () => {
    shopWith({ train: ['2'], test: ['2'] });
    await expect(splitsOf()).rejects.toThrow("the task '2' is in the splits train and test");
  });
});
