import { describe, expect, it } from 'vitest';
import { createProject, PATIENCE, proctor } from './command.ts';

describe('proctor keys', PATIENCE, () => {
  it('create shows the key once, list never, revoke puts it out of force', async () => {
    const cwd = createProject();
    const limits = ['--requests-per-minute', '60', '--concurrent-runs', '4'];
    const created = await proctor(['keys', 'create', '--name', 'ci', '--account', 'team', ...limits, '--json'], {
      cwd,
    });
    const key = JSON.parse(created.stdout);
    expect([created.code, Object.keys(key).sort()]).toEqual([0, ['account', 'id', 'key', 'name']]);
    expect(key).toMatchObject({ name: 'ci', account: 'team', key: expect.stringMatching(/^pk_[\w-]{43}$/) });

    const listed = await proctor(['keys', 'list', '--json'], { cwd });
    expect(JSON.parse(listed.stdout)).toEqual([
      {
        id: key.id,
        name: 'ci',
        account: 'team',
        requests_per_minute: 60,
        concurrent_runs: 4,
        created_at: expect.stringMatching(/^\d{4}-.*Z$/),
        revoked_at: null,
      },
    ]);
    expect(listed.stdout).not.toContain(key.key);

    const again = await proctor(['keys', 'create', '--name', 'ci'], { cwd });
    expect([again.code, again.stdout]).toEqual([2, '']);
    expect(again.stderr).toContain(`There is a key called "ci" already (${key.id})`);

    const revoked = await proctor(['keys', 'revoke', 'ci'], { cwd });
    expect([revoked.code, revoked.stdout]).toEqual([0, `Revoked ci (${key.id}).\n`]);
    const twice = await proctor(['keys', 'revoke', 'ci'], { cwd });
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining('no key in force called "ci"')]);

    const table = await proctor(['keys', 'list'], { cwd });
    expect(table.stdout).toMatch(/^ID +NAME +ACCOUNT[^\n]*\nkey_\w+ +ci +team +\S+ +60 +4 +revoked \S+\n$/);
  });

  it('create prints the key alone on standard output', async () => {
    const cwd = createProject();
    const { code, stdout, stderr } = await proctor(['keys', 'create', '--name', 'me'], { cwd });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^pk_[\w-]{43}\n$/)]);
    expect(stderr).toContain('not shown again');
  });

  it.each([
    [['create', '--name', 'two words'], /"two words"/],
    [['create', '--name', 'key_0123456789abcdef'], /form of a key's id/],
    [['create', '--name', 'a', '--concurrent-runs', '0'], /'0'.*whole number/],
    [['destroy'], /unknown command 'destroy'/],
  ])('%j ends with 2 and says what is wrong', async (args, message) => {
    const { code, stdout, stderr } = await proctor(['keys', ...args], { cwd: createProject() });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(message);
  });
});
