import { EnvironmentServer, type SandboxOptions } from 'proctor';
import { describe, expect, it } from 'vitest';
import { checkSandboxOptions } from '../../../src/environment/sandbox/options.ts';

const GIB = 1024 ** 3;

describe('the options of a sandbox', () => {
  it('have defaults that confine: no network, 1 GiB, one processor, 256 processes, 4 GiB of disk', () => {
    expect(checkSandboxOptions('main', {})).toMatchObject({
      image: undefined,
      workdir: '/workspace',
      user: undefined,
      network: 'none',
      limits: { memoryBytes: GIB, cpus: 1, processes: 256, diskBytes: 4 * GIB },
      named: [],
      isBestEffort: false,
      capabilities: 'default',
    });
  });

  it('take sizes as bytes or text', () => {
    const sizes = (memory: number | string) => checkSandboxOptions('main', { memory }).limits.memoryBytes;
    expect([sizes(536_870_912), sizes('512MiB'), sizes('0.5 GiB'), sizes('512MB')]).toEqual([
      536_870_912, 536_870_912, 536_870_912, 512_000_000,
    ]);
  });

  it('set no variables beside those of an image, and paths of programs without one', () => {
    expect(checkSandboxOptions('main', { image: 'node:22', env: { A: '1' } }).env).toEqual({ A: '1' });
    expect(Object.keys(checkSandboxOptions('main', {}).env).sort()).toEqual(['HOME', 'LANG', 'PATH']);
  });

  it.each<[unknown, RegExp]>([
    [{ imgae: 'x' }, /Sandbox "main" has no option "imgae": use image, workdir/],
    [{ image: '' }, /image has to be the name of an image, or \{ build: folder, dockerfile, args \}, got ""/],
    [{ image: { build: 3 } }, /image has to be the name of an image/],
    [{ workdir: 'work' }, /workdir has to be the absolute path of a folder other than "\/", got "work"/],
    [{ workdir: '/a/../etc' }, /workdir has to be/],
    [{ files: { '../x': '' } }, /a path of files has to be relative to workdir, without "\.\.", got "\.\.\/x"/],
    [{ files: { x: 3 } }, /files\["x"\] has to be text, bytes/],
    [{ user: 'a b' }, /user has to be a user name, or "uid" or "uid:gid" in numbers, got "a b"/],
    [{ env: { 'A=B': '' } }, /a name of env has to be of letters, digits and "_", got "A=B"/],
    [{ env: { KEY: 5 } }, /env\.KEY has to be text, got "number"/],
    [{ network: 'closed' }, /network has to be "none", "open" or \{ allow:/],
    [{ network: { allow: ['https://example.org'] } }, /an entry of network\.allow has to be a host/],
    [{ network: { allow: ['example.org:70000'] } }, /an entry of network\.allow/],
    [{ memory: '1 gig' }, /memory has to be a number of bytes or text such as "512MiB", 8MiB or more, got "1 gig"/],
    [{ memory: 5 }, /memory has to be .* got 5/],
    [{ cpus: 0 }, /cpus has to be a number from 0\.01 on, got 0/],
    [{ processes: 1.5 }, /processes has to be a whole number from 1 on, got 1\.5/],
    [{ limits: 'soft' }, /limits has to be "enforced", "best-effort", got "soft"/],
    [{ capabilities: 'all' }, /capabilities has to be "default", "drop-all", "engine"/],
    ['node:22', /the options have to be an object, got "node:22"/],
  ])('refuse %j with the option, the value and the way out', (options, message) => {
    expect(() => checkSandboxOptions('main', options)).toThrow(TypeError);
    expect(() => checkSandboxOptions('main', options)).toThrow(message);
  });

  it.each([
    'example.org',
    '*.example.org',
    '10.0.0.0/8',
    '10.1.2.3',
    'example.org:8080',
    '[fd00::1]:443',
    '[fd00::]/8',
  ])('allow %s as a destination', (entry) => {
    expect(checkSandboxOptions('main', { network: { allow: [entry] } }).network).toEqual({ allow: [entry] });
  });
});

describe('an environment that declares sandboxes', () => {
  const environment = () => new EnvironmentServer({ name: 'repair' });

  it('refuses wrong options and names at once', () => {
    expect(() => environment().sandbox({ cpus: -1 })).toThrow('Sandbox "main": cpus has to be a number from 0.01 on');
    expect(() => environment().sandbox('My DB')).toThrow('The name of a sandbox is a host name');
    expect(() => environment().sandbox('db', { memory: 'much' } as SandboxOptions)).toThrow('Sandbox "db": memory');
  });

  it('refuses a second sandbox of the same name', () => {
    const env = environment();
    env.sandbox('db');
    env.sandbox();
    expect(() => env.sandbox('db')).toThrow('already has a sandbox named "db"');
    expect(() => env.sandbox({ image: 'x' })).toThrow('already has a sandbox named "main"');
  });

  it('refuses two sets of tools for one role, and adds those of others', () => {
    const env = environment();
    const added: string[] = [];
    const set = (name: string, role?: 'shell' | 'editor') => ({ role, addTo: () => void added.push(name) });
    env.use(set('bash', 'shell'), set('editor', 'editor'), set('think'), set('memory'));
    expect(() => env.use(set('exec', 'shell'))).toThrow('already uses tools for the role "shell"');
    expect(added).toEqual(['bash', 'editor', 'think', 'memory']);
    expect(() => env.use({} as never)).toThrow('use takes sets of tools');
  });

  it('gives an object whose methods say in a sentence that the sandbox is not open yet', async () => {
    const box = environment().sandbox({ workdir: '/work' });
    const sentence =
      'The sandbox "main" is not open: it is there from the setup of a scenario to the end of the session';
    expect([box.name, box.workdir, box.isFrozen]).toEqual(['main', '/work', false]);
    for (const call of [() => box.exec('true'), () => box.files.read('a'), () => box.freeze(), () => box.fresh()]) {
      await expect(call()).rejects.toThrow(sentence);
    }
    await expect(box.stop()).resolves.toBeUndefined();
  });
});
