import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { freePort } from '../free-port.ts';
import { createProject, PATIENCE, proctor, start } from './command.ts';

describe('proctor demo', PATIENCE, () => {
  it('--once prints the steps, the reward, the address of the trace, and a curl line that is ready to use', async () => {
    const cwd = createProject('retail');
    const port = await freePort();
    const { code, stdout } = await proctor(['demo', '--once', '--port', String(port)], { cwd });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^prompt /m);
    expect(stdout).toMatch(/^step 1 \w+ \{/m);
    expect(stdout).toMatch(/^reward 1$/m);
    expect(stdout).toMatch(
      new RegExp(`^The trace +http://127.0.0.1:${port}/traces/[0-9a-f]{32}\\?token=[\\w-]{43}$`, 'm'),
    );
    expect(stdout).toContain(
      `curl http://127.0.0.1:${port}/v1/agent/run -H "Authorization: Bearer $(cat .proctor/key)"`,
    );
    expect(stdout).toContain(
      `-d '{"env_name":"retail","scenario_name":"task","model":"proctor/oracle","scenario_args":{"task_id":"1"}}'`,
    );
    expect(stdout).toContain('PROCTOR_GATEWAY_URL');
    expect(readFileSync(join(cwd, '.proctor', 'key'), 'utf8')).toMatch(/^pk_[\w-]{43}\n$/);
  });

  it('keeps a key that works in .proctor/key, whatever keys there are, and stays up until it is stopped', async () => {
    const cwd = createProject('retail');
    await proctor(['keys', 'create', '--name', 'mine'], { cwd });
    const port = await freePort();
    const demo = start(['demo', '--port', String(port)], { cwd });
    await demo.prints(/Ctrl-C stops it/);
    const key = readFileSync(join(cwd, '.proctor', 'key'), 'utf8').trim();
    const reply = await fetch(`http://127.0.0.1:${port}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
    expect(reply.status).toBe(200);
    demo.process.kill('SIGINT');
    expect((await demo.ended).code).toBe(0);
  });

  it('names the key file of its database in the curl line', async () => {
    const cwd = createProject('retail');
    const env = { PROCTOR_DATABASE_URL: 'sqlite:other.db' };
    const { stdout } = await proctor(['demo', '--once', '--port', String(await freePort())], { cwd, env });
    const [, file = ''] = /Bearer \$\(cat (\S+)\)"/.exec(stdout) ?? [];
    expect(file).toMatch(/^\.proctor\/keys\/sqlite-other\.db-/);
    expect(readFileSync(join(cwd, file), 'utf8')).toMatch(/^pk_/);
  });

  it('ends with 2 where there is no retail desk', async () => {
    const { code, stderr } = await proctor(['demo'], { cwd: createProject('counter') });
    expect([code, stderr]).toEqual([2, expect.stringContaining('environments/retail')]);
  });
});
