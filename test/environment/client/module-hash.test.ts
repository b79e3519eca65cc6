import { cp, mkdir, mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { hashEnvironmentCode, hashTargetCode } from '../../../src/environment/client/pool/module-hash.ts';
import { inMemory } from '../../../src/environment/server/in-memory.ts';

let folder: string;
const path = (name: string) => join(folder, name);
const hash = () => hashEnvironmentCode(path('environment.ts'));

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'module-hash-'));
  await mkdir(path('data'));
  await writeFile(path('environment.ts'), 'export default 1;');
  await writeFile(path('data/db.json'), '{}');
});

afterEach(() => rm(folder, { recursive: true }));

describe('the hash of an environment', () => {
  it('is 64 hex digits, the same for the same files elsewhere', async () => {
    const copy = await mkdtemp(join(tmpdir(), 'module-hash-copy-'));
    await cp(folder, copy, { recursive: true });
    try {
      expect(await hash()).toMatch(/^[0-9a-f]{64}$/);
      expect(await hashEnvironmentCode(join(copy, 'environment.ts'))).toBe(await hash());
    } finally {
      await rm(copy, { recursive: true });
    }
  });

  it('changes when a file is written, added, renamed or removed', async () => {
    const seen = [await hash()];
    await writeFile(path('data/db.json'), '[]');
    await utimes(path('data/db.json'), 1, 1);
    seen.push(await hash());
    await writeFile(path('tools.ts'), 'export {};');
    seen.push(await hash());
    await rename(path('tools.ts'), path('more-tools.ts'));
    seen.push(await hash());
    await rm(path('data'), { recursive: true });
    seen.push(await hash());
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('sees what was written while another walk went on, for all who ask then', async () => {
    const before = hash();
    await writeFile(path('tools.ts'), 'export {};');
    const asked = await Promise.all([hash(), hash(), hash()]);
    await before;
    expect(new Set(asked)).toEqual(new Set([await hash()]));
  });

  it('does not count installed packages and dot files, nor when a file was written', async () => {
    const before = await hash();
    await mkdir(path('node_modules'));
    await writeFile(path('node_modules/index.js'), '');
    await mkdir(path('.git'));
    await writeFile(path('.git/HEAD'), '');
    await writeFile(path('.env'), 'A=1');
    await utimes(path('environment.ts'), 1, 1);
    expect(await hash()).toBe(before);
  });

  it('does not confuse where a name ends and its bytes begin', async () => {
    await rm(path('data'), { recursive: true });
    await writeFile(path('a'), 'bc');
    const one = await hash();
    await rm(path('a'));
    await writeFile(path('ab'), 'c');
    expect(await hash()).not.toBe(one);
  });

  it('of a folder that does not exist is an error', async () => {
    await expect(hashEnvironmentCode(path('nowhere/environment.ts'))).rejects.toThrow('ENOENT');
  });
});

describe('the hash of a target', () => {
  const command = (...args: string[]) =>
    hashTargetCode({ kind: 'command', command: '/usr/bin/python3', args, cwd: folder });

  beforeEach(() => writeFile(path('data/server.py'), 'print(1)'));

  it('of a command is that of its line and of the folder of its script', async () => {
    const first = await command('data/server.py', '--fast');
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(await command(path('data/server.py'), '--fast')).toBe(first);
    expect(await command('data/server.py', '--slow')).not.toBe(first);
    await writeFile(path('data/helper.py'), '');
    expect(await command('data/server.py', '--fast')).not.toBe(first);
  });

  it('is null where nobody here can tell what code runs', async () => {
    await writeFile(path('server.py'), '');
    await mkdir(path('node_modules/x'), { recursive: true });
    await writeFile(path('node_modules/x/cli.js'), '');
    const targets: readonly EnvironmentTarget[] = [
      { kind: 'url', url: 'https://environments.example/mcp' },
      inMemory({}),
      { kind: 'command', command: 'npx', args: ['-y', 'some-server'], cwd: folder },
      { kind: 'command', command: 'python3', args: ['server.py'], cwd: folder },
      { kind: 'command', command: 'node', args: ['node_modules/x/cli.js'], cwd: folder },
      { kind: 'module', path: path('nowhere/environment.ts') },
    ];
    expect(await Promise.all(targets.map(hashTargetCode))).toEqual(targets.map(() => null));
  });
});
