import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createProject, PATIENCE, proctor } from './command.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const PACKED = `proctor-${version}.tgz`;

const read = (cwd: string, ...path: readonly string[]) => readFileSync(join(cwd, ...path), 'utf8');

describe('proctor init', PATIENCE, () => {
  it('makes a project of the name, its placeholders filled in, and says what to do next', async () => {
    const cwd = createProject();
    const { code, stdout, stderr } = await proctor(['init', 'my-env', '--template', 'class'], { cwd });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/Made my-env from the template class:[\s\S]*my-env\/\.gitignore/);
    expect(stdout).toMatch(/cd my-env\n\s+npm install\n\s+npm test\n\s+npx proctor run my-env clear_list\n$/);
    expect(read(cwd, 'my-env', '.gitignore')).toContain('node_modules/');
    expect(JSON.parse(read(cwd, 'my-env', 'package.json'))).toMatchObject({
      name: 'my-env',
      type: 'module',
      dependencies: { proctor: `file:${PACKED}` },
    });
    expect(read(cwd, 'my-env', 'environments', 'my-env', 'environment.ts')).toContain("name: 'my-env'");
    const files = readdirSync(join(cwd, 'my-env'), { recursive: true, withFileTypes: true });
    const texts = files.filter((entry) => entry.isFile()).map((entry) => read(entry.parentPath, entry.name));
    expect(texts.join('\n')).not.toMatch(/__(name|proctor)__/);
  });

  it('takes blank where nobody can be asked, and prints one object of JSON', async () => {
    const cwd = createProject();
    const { code, stdout } = await proctor(['init', 'plain', '--json', '--proctor', version], { cwd });
    expect(code).toBe(0);
    const made = JSON.parse(stdout);
    expect(made).toMatchObject({ name: 'plain', template: 'blank', directory: expect.stringMatching(/\/plain$/) });
    expect(made.files).toContain('environments/plain/environment.ts');
    expect(made.next.slice(0, 3)).toEqual(['cd plain', 'npm install', 'npm test']);
    expect(made.files.every((file: string) => existsSync(join(cwd, 'plain', file)))).toBe(true);
  });

  it('depends on the proctor that it is told to: a range as it is, a packed one in the new folder, a folder where it is', async () => {
    const cwd = createProject();
    writeFileSync(join(cwd, 'packed $& "1".tgz'), 'packed');
    mkdirSync(join(cwd, 'checkout'));
    const dependency = async (name: string, spec: string) => {
      const { code, stderr } = await proctor(['init', name, '--proctor', spec], { cwd });
      const notes = spec.endsWith('checkout') ? expect.stringMatching(/^npm installs .*has to go along.*\n$/) : '';
      expect([code, stderr]).toEqual([0, notes]);
      return JSON.parse(read(cwd, name, 'package.json')).dependencies.proctor;
    };
    expect(await dependency('one', '~0.1.0')).toBe('~0.1.0');
    expect(await dependency('two', './packed $& "1".tgz')).toBe('file:packed $& "1".tgz');
    expect(read(cwd, 'two', 'packed $& "1".tgz')).toBe('packed');
    expect(await dependency('four', './checkout')).toBe('file:../checkout');
    const { code, stderr } = await proctor(['init', 'three', '--proctor', './nothing.tgz'], { cwd });
    expect([code, stderr]).toEqual([2, expect.stringContaining('"./nothing.tgz"')]);
    expect(existsSync(join(cwd, 'three'))).toBe(false);
  });

  it('depends on the packed proctor of the project that it is called in', async () => {
    const cwd = createProject();
    writeFileSync(join(cwd, 'proctor-0.1.0.tgz'), 'packed');
    writeFileSync(join(cwd, 'package.json'), '{ "dependencies": { "proctor": "file:proctor-0.1.0.tgz" } }');
    expect((await proctor(['init', 'second'], { cwd })).code).toBe(0);
    expect(JSON.parse(read(cwd, 'second', 'package.json')).dependencies.proctor).toBe('file:proctor-0.1.0.tgz');
    expect(read(cwd, 'second', 'proctor-0.1.0.tgz')).toBe('packed');
  });

  it('brings along the package that runs: of a checkout, and an installed one as well', async () => {
    const run = promisify(execFile);
    const cwd = createProject();
    expect((await proctor(['init', 'first'], { cwd })).code).toBe(0);
    const contents = async (name: string) =>
      (await run('tar', ['-tzf', join(cwd, name, PACKED)])).stdout.split('\n').sort();
    const files = await contents('first');
    expect(files).toEqual(
      expect.arrayContaining([
        'package/dist/cli/main.js',
        'package/templates/blank/package.json',
        'package/package.json',
      ]),
    );

    mkdirSync(join(cwd, 'node_modules'));
    await run('tar', ['-xzf', join(cwd, 'first', PACKED), '-C', join(cwd, 'node_modules')]);
    const installed = join(cwd, 'node_modules', 'proctor');
    renameSync(join(cwd, 'node_modules', 'package'), installed);
    symlinkSync(join(ROOT, 'node_modules'), join(installed, 'node_modules'));
    await run(process.execPath, [join(installed, 'dist/cli/main.js'), 'init', 'second'], { cwd });
    expect(JSON.parse(read(cwd, 'second', 'package.json')).dependencies.proctor).toBe(`file:${PACKED}`);
    expect(await contents('second')).toEqual(files);
  });

  it('writes nothing where npm cannot pack, and says how to go on', async () => {
    const cwd = createProject();
    const { code, stderr } = await proctor(['init', 'first'], { cwd, env: { PATH: '/nowhere' } });
    expect([code, stderr]).toEqual([1, expect.stringMatching(/npm cannot pack .*ENOENT.*--proctor/)]);
    expect(existsSync(join(cwd, 'first'))).toBe(false);
  });

  it.each(['My-Env', '-a', '../a', '', 'a'.repeat(65), 'zod'])(
    'refuses the name %j and writes nothing',
    async (name) => {
      const cwd = createProject();
      const { code, stdout, stderr } = await proctor(['init', '--', name], { cwd });
      expect([code, stdout]).toEqual([2, '']);
      expect(stderr).toContain(JSON.stringify(name));
      expect(readdirSync(cwd)).toEqual(['environments']);
    },
  );

  it('refuses a template that does not exist and lists those that do', async () => {
    const { code, stderr } = await proctor(['init', 'x', '--template', 'nope'], { cwd: createProject() });
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/blank, class, functional, conversation, coding, browser/),
    ]);
  });

  it('takes an empty folder, and refuses one that holds something, and a file, without touching them', async () => {
    const cwd = createProject();
    mkdirSync(join(cwd, 'empty'));
    expect((await proctor(['init', 'empty', '--proctor', version], { cwd })).code).toBe(0);
    mkdirSync(join(cwd, 'full'));
    writeFileSync(join(cwd, 'full', 'README.md'), 'mine');
    writeFileSync(join(cwd, 'file'), 'mine');
    symlinkSync('nowhere', join(cwd, 'link'));
    for (const name of ['full', 'file', 'link']) {
      const { code, stderr } = await proctor(['init', name], { cwd });
      expect([code, stderr]).toEqual([2, expect.stringContaining(`"${name}"`)]);
    }
    expect([read(cwd, 'full', 'README.md'), read(cwd, 'file'), readdirSync(join(cwd, 'full'))]).toEqual([
      'mine',
      'mine',
      ['README.md'],
    ]);
  });
});
