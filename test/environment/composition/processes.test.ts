import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { isRunning } from '../client/processes.ts';
import { Child } from '../server/child.ts';
import { connect, textOf } from '../server/clients.ts';

const COMPOSED = fileURLToPath(new URL('./fixtures/composed.ts', import.meta.url));
const start = (mode: string) => new Child(['--import', 'tsx', COMPOSED], { env: { ODD: mode } });

async function otherPid(child: Child): Promise<number> {
  const client = await connect(child);
  const received = JSON.parse(textOf(await client.callTool({ name: 'received' }))) as { readonly pid: number };
  return received.pid;
}

describe('the process of a connected server', () => {
  it.each(['plain', 'stubborn'])('is gone when its environment has met SIGTERM, and hooks ran (%s)', async (mode) => {
    const child = start(mode);
    const pid = await otherPid(child);
    child.process.kill('SIGTERM');
    expect(await child.exited).toBe(0);
    expect(isRunning(pid)).toBe(false);
    expect(child.stderr).toContain('close\nshutdown\n');
  });

  it.each(['plain', 'stubborn'])('is gone when its environment has met the end of its input (%s)', async (mode) => {
    const child = start(mode);
    const pid = await otherPid(child);
    child.process.stdin?.end();
    expect(await child.exited).toBe(0);
    expect(isRunning(pid)).toBe(false);
    expect(child.stderr).toContain('close\n');
  });

  it('prints into the log, never into the protocol of the environment', async () => {
    const child = start('plain');
    const client = await connect(child);
    await client.callTool({ name: 'garbage' });
    await child.says('proctor: The connected server other: Not a message of the protocol');
    expect(child.garbage).toEqual([]);
  });
});
