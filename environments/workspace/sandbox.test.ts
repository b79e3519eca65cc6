import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectEnvironment } from 'proctor/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import WorkspaceEnvironment from './environment.ts';
import { toBubblewrapArguments } from './sandbox/bubblewrap.ts';
import { OutputWindow } from './sandbox/output-window.ts';
import { runProcess } from './sandbox/run-process.ts';
import { openSandbox } from './sandbox/sandbox.ts';
import { unprivilegedUser } from './sandbox/unprivileged-user.ts';
import { SessionDirectory } from './session-directory.ts';
import { describeInSandbox, solve } from './test-workspace.ts';

const path = fileURLToPath(new URL('./environment.ts', import.meta.url));

describe('without a sandbox that works', () => {
  it('says why, what to do, and what doing without exposes', async () => {
    const opening = openSandbox({ kind: 'bubblewrap', program: '/nowhere/bwrap' });
    await expect(opening).rejects.toThrow(
      /does not work here: \/nowhere\/bwrap: .*ENOENT.*Install bubblewrap.*WORKSPACE_SANDBOX=none.*exposes every file that this user can read/s,
    );
  });

  it('says what bubblewrap says where a container forbids it, and tries again the next time', async () => {
    const program = await script('echo "bwrap: Creating new namespace failed: Operation not permitted" >&2; exit 1');
    const open = () => openSandbox({ kind: 'bubblewrap', program });
    await expect(open()).rejects.toThrow('Creating new namespace failed: Operation not permitted');
    await writeFile(program, `#!/bin/sh\necho ${process.version}\n`);
    await expect(open()).resolves.toMatchObject({ kind: 'bubblewrap' });
  });

  it('the environment refuses to start, and its log says why', async () => {
    const lines: string[] = [];
    const env = { PATH: await folder() };
    const connecting = connectEnvironment(
      { kind: 'module', path, env },
      { onLog: ({ message }) => lines.push(message) },
    );
    await expect(connecting).rejects.toThrow('could not be initialized');
    expect(lines.join('\n')).toContain('WORKSPACE_SANDBOX=none');
  });

  it('it starts where it is told that there is none, and says what that exposes', async () => {
    const lines: string[] = [];
    const env = { WORKSPACE_SANDBOX: 'none' };
    const onLog = ({ message }: { readonly message: string }) => lines.push(message);
    const client = await connectEnvironment({ kind: 'module', path, env }, { onLog });
    onTestFinished(() => client.close());
    await client.setup('implement', { task: 'cache' });
    await solve(client, 'implement', 'cache');
    expect(await client.evaluate('implement', '')).toMatchObject({ reward: 1, info: { sandbox: 'none' } });
    expect(lines.join('\n')).toMatch(/There is no sandbox: .*the trace store and the hidden tests.*the network/);
  });

  it('refuses a sandbox that does not exist', () => {
    expect(() => new WorkspaceEnvironment({ sandbox: JSON.parse('"docker"') })).toThrow('"docker"');
  });
});

describeInSandbox('the sandbox', () => {
  it('covers a folder that lies among the programs', async () => {
    const hidden = '/usr/share/doc';
    expect(await listed('/usr/share/doc', [])).not.toBe('');
    expect(await listed('/usr/share/doc', [hidden])).toBe('');
    expect(await listed('/usr/share', [hidden])).toContain('doc');
  });

  it('shows an output of any length within its sizes', () => {
    const window = new OutputWindow(4, 4);
    for (const text of ['ab', 'cdef', 'gh', '', 'ijklmnop']) window.write(Buffer.from(text));
    expect(window.text()).toBe('abcd\n[... 8 bytes cut here ...]\nmnop');
    const whole = new OutputWindow(4, 4);
    whole.write(Buffer.from('abcdefgh'));
    expect(whole.text()).toBe('abcdefgh');
  });
});

async function listed(target: string, hidden: readonly string[]): Promise<string> {
  const directory = await SessionDirectory.create();
  try {
    const args = toBubblewrapArguments({
      hidden,
      driver: directory.driver,
      work: directory.work,
      etc: directory.etc,
      isReadOnly: true,
      variables: { PATH: '/usr/bin:/bin' },
      command: ['ls', target],
    });
    const limits = {
      timeMs: 10_000,
      memoryBytes: 2 ** 28,
      processes: 8,
      outputBytes: 2 ** 20,
      keptOutputBytes: 2 ** 16,
    };
    const variables = { PATH: process.env.PATH ?? '' };
    const request = {
      program: 'bwrap',
      args,
      cwd: '/',
      variables,
      input: '',
      hasResult: false,
      isContainer: true,
      user: unprivilegedUser(),
      limits,
      signal: undefined,
    };
    return (await runProcess(request)).output;
  } finally {
    await directory.remove();
  }
}

async function folder(): Promise<string> {
  const created = await mkdtemp(join(tmpdir(), 'programs-'));
  await chmod(created, 0o755);
  onTestFinished(() => rm(created, { recursive: true, force: true }));
  return created;
}

async function script(text: string): Promise<string> {
  const program = join(await folder(), 'bwrap');
  await writeFile(program, `#!/bin/sh\n${text}\n`);
  await chmod(program, 0o755);
  return program;
}
