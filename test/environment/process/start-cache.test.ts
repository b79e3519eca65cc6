import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectEnvironment } from '../../../src/environment/client/connect.ts';
import { until } from '../../until.ts';

const PACKAGE = fileURLToPath(new URL('../../../', import.meta.url));
const PATIENCE = { timeout: 60_000 };

type Files = Readonly<Record<string, string>>;

class Project {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'proctor-starts-')));

  constructor(files: Files) {
    onTestFinished(() => rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 }));
    this.write({ 'package.json': '{"type":"module"}', ...files });
    mkdirSync(join(this.folder, 'node_modules'), { recursive: true });
    symlinkSync(PACKAGE, join(this.folder, 'node_modules/proctor'));
    symlinkSync(join(PACKAGE, 'node_modules/zod'), join(this.folder, 'node_modules/zod'));
  }

  get cache(): string {
    return join(this.folder, '.proctor/cache');
  }

  write(files: Files): void {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, name)), { recursive: true });
      writeFileSync(join(this.folder, name), text);
    }
  }

  /** Paths of the cached files with this ending. */
  cached(ending: '.mjs' | '.bin'): string[] {
    const names = readdirSync(this.cache).filter((name) => name.endsWith(ending));
    return names.map((name) => join(this.cache, name));
  }

  /** Starts a process of the environment; its tool says what it is, and whether it was prepared. */
  async ask(file = 'environment.ts', tool = 'tell') {
    const logs: string[] = [];
    const path = join(this.folder, 'environments/shop', file);
    const client = await connectEnvironment(
      { kind: 'module', path },
      { onLog: ({ message }) => void logs.push(message) },
    );
    try {
      const { structured_content, is_error } = await client.call(tool, {});
      return { ...structured_content, is_error, log: logs.join('\n') };
    } finally {
      await client.close();
    }
  }
}

/** An environment whose tool `tell` gives a value, and whether its code was prepared. */
function environmentOf(value: string, head = '', rest = ''): string {
  return `import { EnvironmentServer } from 'proctor';
${head}
const env = new EnvironmentServer({ name: 'shop' });
env.tool('tell', {}, async () => ({ value: ${value}, isPrepared: Symbol.for('proctor.start') in globalThis }));
${rest}
export default env;
`;
}

const SHOP = 'environments/shop/environment.ts';
const prepared = (value: unknown) => ({ value, isPrepared: true, is_error: false, log: '' });
const plain = (value: unknown) => ({ value, isPrepared: false, is_error: false, log: '' });

describe('the start of an environment in TypeScript', PATIENCE, () => {
  it('is prepared once, and then taken from the cache of the project', async () => {
    const project = new Project({ [SHOP]: environmentOf("'first'") });
    expect(await project.ask()).toEqual(prepared('first'));
    const [entry = '', ...others] = project.cached('.mjs');
    expect(others).toEqual([]);
    const before = statSync(entry, { bigint: true });
    expect(await project.ask()).toEqual(prepared('first'));
    expect(statSync(entry, { bigint: true })).toMatchObject({ ino: before.ino, mtimeNs: before.mtimeNs });
  });

  it('keeps its cache from other users', async () => {
    const project = new Project({ [SHOP]: environmentOf("'first'") });
    await project.ask();
    const modes = [project.cache, ...project.cached('.mjs')].map((path) => statSync(path).mode & 0o777);
    expect(modes).toEqual([0o700, 0o600]);
  });

  it('sees a file that has changed, and one that it imports, in TypeScript and in JSON', async () => {
    const head = "import { part } from './parts/part.ts'; import data from './data.json' with { type: 'json' };";
    const project = new Project({
      [SHOP]: environmentOf("'one ' + part + data.x", head),
      'environments/shop/parts/part.ts': "export const part: string = 'one ';",
      'environments/shop/data.json': '{"x":"one"}',
    });
    expect(await project.ask()).toEqual(prepared('one one one'));
    project.write({ [SHOP]: environmentOf("'two ' + part + data.x", head) });
    expect(await project.ask()).toEqual(prepared('two one one'));
    project.write({ 'environments/shop/parts/part.ts': "export const part: string = 'two ';" });
    expect(await project.ask()).toEqual(prepared('two two one'));
    project.write({ 'environments/shop/data.json': '{"x":"two"}' });
    expect(await project.ask()).toEqual(prepared('two two two'));
  });

  it('sees that a link leads to another file', async () => {
    const head = "import { part } from './current.ts';";
    const project = new Project({
      [SHOP]: environmentOf('part', head),
      'environments/shop/one.ts': "export const part: string = 'one';",
      'environments/shop/two.ts': "export const part: string = 'two';",
    });
    const link = join(project.folder, 'environments/shop/current.ts');
    for (const part of ['one', 'two']) {
      rmSync(link, { force: true });
      symlinkSync(`${part}.ts`, link);
      expect(await project.ask()).toEqual(plain(part));
    }
  });

  it('is made again where its entry is damaged, or where others may have written it', async () => {
    const project = new Project({ [SHOP]: environmentOf("'right'") });
    await project.ask();
    const [entry = ''] = project.cached('.mjs');
    const good = readFileSync(entry, 'utf8');
    const forged = good.replace('right', 'wrong');
    expect(forged).not.toBe(good);
    for (const damaged of ['', good.slice(0, 100), forged]) {
      writeFileSync(entry, damaged);
      expect(await project.ask()).toEqual(prepared('right'));
      expect(readFileSync(entry, 'utf8')).toBe(good);
    }
    chmodSync(entry, 0o666);
    expect(await project.ask()).toEqual(prepared('right'));
    expect(statSync(entry).mode & 0o777).toBe(0o600);
    chmodSync(project.cache, 0o777);
    expect(await project.ask()).toEqual(plain('right'));
  });

  it('is not led astray by damaged code of V8', async () => {
    const project = new Project({
      [SHOP]: environmentOf("'right'", '', 'await new Promise((resolve) => setTimeout(resolve, 300));'),
    });
    await project.ask();
    await until(() => project.cached('.bin').length === 1);
    const [compiled = ''] = project.cached('.bin');
    const damaged = readFileSync(compiled).fill(7, 1_000);
    writeFileSync(compiled, damaged);
    expect(await project.ask()).toEqual(prepared('right'));
    await until(() => !readFileSync(compiled).equals(damaged));
    expect(await project.ask()).toEqual(prepared('right'));
  });

  it('may happen several times at the same moment', async () => {
    const project = new Project({ [SHOP]: environmentOf("'same'") });
    const answers = await Promise.all([project.ask(), project.ask(), project.ask()]);
    expect(answers).toEqual(Array(3).fill(prepared('same')));
    expect(readdirSync(project.cache).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  it('goes on file by file, without a word, where there can be no cache', async () => {
    const project = new Project({ [SHOP]: environmentOf("'read'"), '.proctor': 'a file' });
    expect(await project.ask()).toEqual(plain('read'));
  });

  it('does not depend on tsconfig.json, as before', async () => {
    const options = (compilerOptions: object) => ({ 'tsconfig.json': JSON.stringify({ compilerOptions }) });
    const code = `import { EnvironmentServer, tool } from 'proctor';
export default class Shop extends EnvironmentServer {
  constructor() { super({ name: 'shop' }); }
  @tool() tell() { return { value: 'decorated', isPrepared: Symbol.for('proctor.start') in globalThis }; }
}
`;
    const project = new Project({ [SHOP]: code, ...options({ target: 'es2022' }) });
    expect(await project.ask()).toEqual(prepared('decorated'));
    project.write(options({ experimentalDecorators: true, target: 'es5', paths: { proctor: ['./nowhere.ts'] } }));
    expect(await project.ask()).toEqual(prepared('decorated'));
    rmSync(project.cache, { recursive: true });
    expect(await project.ask()).toEqual(prepared('decorated'));
  });

  it('names file, line and column of an error, also out of the cache', async () => {
    const rest = "env.tool('fail', {}, () => fail());";
    const project = new Project({
      [SHOP]: environmentOf("'fails'", "import { fail } from './fail.ts';", rest),
      'environments/shop/fail.ts':
        "interface Unused { a: string }\n\nexport function fail(): void {\n  throw new Error('no stock');\n}\n",
    });
    for (const _ of ['made', 'cached']) {
      const { log } = await project.ask('environment.ts', 'fail');
      expect(log).toMatch(
        /^The tool fail failed at (?:.*\/)?shop\/fail\.ts:4:9: Error: no stock\n +at fail \(.*shop\/fail\.ts:4:9\)/,
      );
    }
    expect(project.cached('.mjs')).toHaveLength(1);
    project.write({ [SHOP]: "interface Unused { a: string }\n\n  throw new Error('closed');\n" });
    for (const _ of ['made', 'cached']) {
      await expect(project.ask()).rejects.toThrow(/shop\/environment\.ts:3:9: closed$/);
    }
  });

  it.each<[string, string, string, unknown, Files]>([
    [
      'another file when it needs it',
      "(await import('./late.ts')).late",
      '',
      'late',
      { 'late.ts': "export const late: string = 'late';" },
    ],
    [
      'files by their compiled names',
      'part',
      "import { part } from './part.js';",
      1,
      { 'part.ts': 'export const part: number = 1;' },
    ],
    [
      'files in a circle',
      'a()',
      "import { a } from './a.ts';",
      'b',
      {
        'a.ts': "import { b } from './b.ts'; export const a = () => b; export const x = 'b';",
        'b.ts': "import { x } from './a.ts'; export let b = 'b'; export const y = () => x;",
      },
    ],
    ['JavaScript', 'part', "import { part } from './part.mjs';", 1, { 'part.mjs': 'export const part = 1;' }],
    ['values that it awaits', 'waited', 'const waited = await Promise.resolve(7);', 7, {}],
    [
      'its own place',
      "readFileSync(new URL('./note.txt', import.meta.url), 'utf8') + import.meta.filename.endsWith('environment.ts') + note",
      "import { readFileSync } from 'node:fs'; import { note } from './deep/note.ts';",
      'here true there'.replaceAll(' ', ''),
      {
        'note.txt': 'here',
        'deep/note.ts':
          "export const note = import.meta.url.endsWith('/shop/deep/note.ts') ? 'there' : import.meta.url;",
      },
    ],
    [
      'a file for its effects, and no package',
      'globalThis.pet',
      "import './prepare.ts';",
      'cat',
      { 'prepare.ts': "globalThis.pet = 'cat' as string;" },
    ],
    ['schemas of ours', 'z.toJSONSchema(z.object({ a: z.int() })).type', "import { z } from 'zod';", 'object', {}],
    [
      'a package',
      'pet',
      "import { pet } from 'pets';",
      'cat',
      {
        '../../node_modules/pets/package.json': '{"type":"module","exports":"./pets.js"}',
        '../../node_modules/pets/pets.js': "export const pet = 'cat';",
      },
    ],
  ])('is prepared with code that uses %s', async (_name, value, head, expected, files) => {
    const project = new Project({ [SHOP]: environmentOf(value, head), ...inShop(files) });
    expect(await project.ask()).toEqual(prepared(expected));
    expect(await project.ask()).toEqual(prepared(expected));
  });

  it.each<[string, string, string, unknown, Files]>([
    [
      'imports by a computed name',
      '(await import(NAME)).late',
      "const NAME = './late.ts' as string;",
      'late',
      { 'late.ts': "export const late: string = 'late';" },
    ],
    ['starts threads', 'isMainThread', "import { isMainThread } from 'node:worker_threads';", true, {}],
    ['asks for addresses', "import.meta.resolve('./x.ts').endsWith('/shop/x.ts')", '', true, {}],
    [
      'imports without an extension',
      'part',
      "import { part } from './part';",
      1,
      { 'part.ts': 'export const part: number = 1;' },
    ],
    [
      'imports other entries of the package',
      'typeof connectEnvironment',
      "import { connectEnvironment } from 'proctor/client';",
      'function',
      {},
    ],
    ['has packages of its own', '1', '', 1, { 'node_modules/x/package.json': '{}' }],
    [
      'imports a package in TypeScript',
      'pet',
      "import { pet } from 'pets';",
      'cat',
      {
        '../../pets/package.json': '{"type":"module","exports":"./pets.ts"}',
        '../../pets/pets.ts': "export const pet: string = 'cat';",
      },
    ],
    [
      'imports a file for what it does before a package is loaded',
      'pet',
      "import './prepare.ts'; import { pet } from 'pets';",
      'cat',
      {
        'prepare.ts': "process.env.PET = 'cat';",
        '../../node_modules/pets/package.json': '{"type":"module","exports":"./pets.js"}',
        '../../node_modules/pets/pets.js': 'export const pet = process.env.PET;',
      },
    ],
  ])('goes on file by file with code that %s', async (_name, value, head, expected, files) => {
    const project = new Project({ [SHOP]: environmentOf(value, head), ...inShop(files) });
    if ('../../pets/pets.ts' in files)
      symlinkSync(join(project.folder, 'pets'), join(project.folder, 'node_modules/pets'));
    for (const _ of ['first', 'again']) expect(await project.ask()).toEqual(plain(expected));
  });

  it('goes on file by file once a folder on the way has rules of its own', async () => {
    const project = new Project({ [SHOP]: environmentOf("'mine'") });
    expect(await project.ask()).toEqual(prepared('mine'));
    project.write({ 'environments/package.json': '{"type":"module"}' });
    // The nearest package.json is the project: it has a cache of its own.
    expect(await project.ask()).toEqual(prepared('mine'));
    project.write({ 'environments/shop/node_modules/x/package.json': '{}' });
    expect(await project.ask()).toEqual(plain('mine'));
  });
});

it(
  'an environment whose start is prepared is connected to others, and shares its errors with packages',
  PATIENCE,
  async () => {
    const other =
      "import { EnvironmentServer } from 'proctor'; export const other = () => { const env = new EnvironmentServer({ name: 'other' }); env.tool('far', {}, () => ({ is: 'far' })); return env; };";
    const project = new Project({
      [SHOP]: environmentOf(
        "'near'",
        "import { other } from './other.ts'; import { fail } from 'errors';",
        "env.connect('other', { server: other }); env.tool('refuse', {}, fail);",
      ),
      'environments/shop/other.ts': other,
      'node_modules/errors/package.json': '{"type":"module","exports":"./errors.js"}',
      'node_modules/errors/errors.js':
        "import { ToolError } from 'proctor'; export const fail = () => { throw new ToolError('sold out'); };",
    });
    expect(await project.ask()).toEqual(prepared('near'));
    expect(await project.ask('environment.ts', 'far')).toMatchObject({ is: 'far', is_error: false });
    expect(await project.ask('environment.ts', 'refuse')).toMatchObject({ is_error: true, log: '' });
  },
);

it('an environment in JavaScript is loaded as it is', PATIENCE, async () => {
  const project = new Project({ 'environments/shop/environment.js': environmentOf("'script'") });
  expect(await project.ask('environment.js')).toEqual(plain('script'));
});

function inShop(files: Files): Files {
  return Object.fromEntries(Object.entries(files).map(([name, text]) => [join('environments/shop', name), text]));
}
