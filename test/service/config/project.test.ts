import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';
import { defineConfig } from '../../../src/service/config/define-config.ts';
import { findEnvironments, resolveEnvironment } from '../../../src/service/config/find-environments.ts';
import { loadConfig } from '../../../src/service/config/load-config.ts';
import { loadProject } from '../../../src/service/config/project.ts';
import { readSettings } from '../../../src/service/config/settings.ts';

/** A directory with these files, until the test ends. */
function directoryOf(files: Readonly<Record<string, string>>): string {
  const directory = mkdtempSync(join(tmpdir(), 'proctor-config-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  for (const [name, text] of Object.entries({ 'package.json': '{"type":"module"}', ...files })) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  return directory;
}

/** Environments without the settings of sandboxes, which each process gets in a variable. */
function withoutSandbox(environments: ReadonlyMap<string, EnvironmentTarget>): ReadonlyMap<string, EnvironmentTarget> {
  return new Map(
    [...environments].map(([name, target]) => {
      if (!('env' in target) || target.env === undefined) return [name, target];
      const { PROCTOR_SANDBOX: _settings, ...env } = target.env;
      const { env: _env, ...rest } = target;
      return [name, (Object.keys(env).length === 0 ? rest : { ...rest, env }) as EnvironmentTarget];
    }),
  );
}

const NO_CONFIG = await loadConfig(directoryPath());

function directoryPath(): string {
  return fileURLToPath(new URL('.', import.meta.url));
}

/** The settings as a process without any loader of TypeScript reads them: vitest has one of its own. */
async function loadInNode(directory: string): Promise<unknown> {
  const module = new URL('../../../dist/service/config/project.js', import.meta.url).href;
  const program = `
    import { loadProject } from ${JSON.stringify(module)};
    const { settings } = await loadProject(${JSON.stringify(directory)}, {});
    console.log(JSON.stringify(settings));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  return JSON.parse(stdout);
}

test('every environments/<name>/environment.ts|js under the working directory is found', async () => {
  const directory = directoryOf({
    'environments/a/environment.ts': '',
    'environments/b/environment.js': '',
    'environments/both/environment.ts': '',
    'environments/both/environment.js': '',
    'environments/empty/README.md': '',
    'environments/file.ts': '',
  });
  const { environments } = await loadProject(directory, {});
  expect([...withoutSandbox(environments)]).toEqual([
    ['a', { kind: 'module', path: join(directory, 'environments/a/environment.ts') }],
    ['b', { kind: 'module', path: join(directory, 'environments/b/environment.js') }],
    ['both', { kind: 'module', path: join(directory, 'environments/both/environment.ts') }],
  ]);
});

test('a directory without environments, configuration and .env has the defaults', async () => {
  const directory = directoryOf({});
  expect(await loadProject(directory, {})).toEqual({
    directory,
    environments: new Map(),
    agents: { find: expect.any(Function), hidden: [directory, join(directory, '.proctor')], names: [] },
    lookAgain: expect.any(Function),
    settings: {
      databaseUrl: 'sqlite:.proctor/proctor.db',
      queueUrl: undefined,
      appUrl: 'http://127.0.0.1:8320',
      isAppUrlNamed: false,
      ports: { runService: 8320, scenarioServer: 8321 },
      allowedHosts: [],
      advertiseUrl: undefined,
      models: { gateways: [], harness: {} },
      apiKey: undefined,
      redact: true,
      sandbox: { engine: undefined, owner: expect.stringMatching(/^[0-9a-f]{16}$/) },
      trainers: {},
      agents: {},
    },
  });
});

test('a second look finds environments and agents that are new, and hides their folders from agents', async () => {
  const directory = directoryOf({ 'environments/a/environment.ts': '', 'elsewhere/shop.ts': '' });
  const project = await loadProject(directory, {});
  const { environments, agents } = project;
  const first = environments.get('a');
  const config = {
    environments: { shop: { path: 'elsewhere/shop.ts', env: { SHOP_KEY: 'a' } } },
    agents: { mine: { command: ['/bin/sh'], needs: 'none' } },
  };
  writeFileSync(join(directory, 'proctor.config.mjs'), `export default ${JSON.stringify(config)};`);
  const seen: string[][] = [];
  const onChange = () => void seen.push([...environments.keys()]);
  expect(await project.lookAgain(onChange)).toBeUndefined();
  expect(await project.lookAgain(onChange)).toBeUndefined();
  expect(seen).toEqual([['a', 'shop']]);
  expect(environments.get('a')).toBe(first);
  expect(agents.find('mine')).toMatchObject({ name: 'mine', needs: 'none' });
  expect(agents.hidden).toContain(join(directory, 'elsewhere'));
  rmSync(join(directory, 'environments/a'), { recursive: true });
  await project.lookAgain(onChange);
  expect(seen.at(-1)).toEqual(['shop']);
});

test('a second look at a configuration that is wrong changes nothing and says what is wrong, until it is right', async () => {
  const directory = directoryOf({ 'shop.ts': '', 'proctor.config.mjs': 'export default { environments: {} };' });
  const project = await loadProject(directory, {});
  const write = (text: string) => writeFileSync(join(directory, 'proctor.config.mjs'), text);
  write('export default { environment: {} };');
  for (let look = 0; look < 2; look++) {
    expect(await project.lookAgain()).toContain('It has no setting "environment"');
  }
  write(`export default { environments: { shop: { path: 'shops.ts' } } };`);
  expect(await project.lookAgain()).toContain('shops.ts');
  expect([...project.environments.keys()]).toEqual([]);
  write(`export default { environments: { shop: { path: 'shop.ts' } } };`);
  expect(await project.lookAgain()).toBeUndefined();
  expect([...project.environments.keys()]).toEqual(['shop']);
});

test('the configuration adds environments of every kind, which win over found ones', async () => {
  const directory = directoryOf({
    'environments/a/environment.ts': '',
    'other/environment.ts': '',
    'shop.ts': '',
    'proctor.config.js': `export default {
      environments: {
        a: 'other',
        shop: './shop.ts',
        python: { command: 'python3', args: ['server.py'], env: { MODE: 'x' } },
        remote: { url: 'https://example.com/mcp', headers: { 'x-team': 'y' }, harnessKey: 'k' },
      },
    }`,
  });
  const { environments } = await loadProject(directory, {});
  expect(Object.fromEntries(withoutSandbox(environments))).toEqual({
    a: { kind: 'module', path: join(directory, 'other/environment.ts') },
    shop: { kind: 'module', path: join(directory, 'shop.ts') },
    python: { kind: 'command', command: 'python3', args: ['server.py'], env: { MODE: 'x' }, cwd: directory },
    remote: { kind: 'url', url: 'https://example.com/mcp', headers: { 'x-team': 'y' }, harnessKey: 'k' },
  });
});

test('the configuration says what an environment may take; an address takes no memory here', async () => {
  const directory = directoryOf({
    'other/environment.ts': '',
    'proctor.config.js': `export default {
      environments: {
        shop: { path: 'other', env: { MODE: 'x' }, concurrency: 3, memoryMiB: 0 },
        desk: { command: 'desk', memoryMiB: 512 },
        remote: { url: 'https://example.com/mcp', concurrency: 1 },
      },
    }`,
  });
  const { environments } = await loadProject(directory, {});
  expect(Object.fromEntries(withoutSandbox(environments))).toEqual({
    shop: {
      kind: 'module',
      path: join(directory, 'other/environment.ts'),
      env: { MODE: 'x' },
      limits: { concurrency: 3, memoryMiB: 0 },
    },
    desk: { kind: 'command', command: 'desk', args: [], cwd: directory, limits: { memoryMiB: 512 } },
    remote: { kind: 'url', url: 'https://example.com/mcp', limits: { concurrency: 1 } },
  });
  const wrong = directoryOf({
    'proctor.config.js': `export default { environments: { remote: { url: 'https://example.com', memoryMiB: 1 } } }`,
  });
  await expect(loadProject(wrong, {})).rejects.toThrow(/environments\.remote/);
});

test('the configuration says how many sessions share a process of a module, and of nothing else', async () => {
  const projectWith = (entry: string) => {
    const config = `export default { environments: { shop: ${entry} } }`;
    return loadProject(directoryOf({ 'other/environment.ts': '', 'proctor.config.js': config }), {});
  };
  const { environments } = await projectWith(`{ path: 'other', sessionsPerProcess: 64 }`);
  expect(environments.get('shop')).toMatchObject({ kind: 'module', limits: { sessionsPerProcess: 64 } });
  for (const way of [`command: 'shop'`, `url: 'https://example.com/mcp'`]) {
    await expect(projectWith(`{ ${way}, sessionsPerProcess: 2 }`)).rejects.toThrow(
      /environments\.shop has no "sessionsPerProcess"/,
    );
  }
  await expect(projectWith(`{ path: 'other', sessionsPerProcess: 0 }`)).rejects.toThrow(
    /environments\.shop\.sessionsPerProcess: /,
  );
});

test('a configuration in TypeScript is loaded by a plain node process', async () => {
  const directory = directoryOf({
    'proctor.config.ts': `
      enum Port { service = 9000 }
      const ports: { runService: number } = { runService: Port.service };
      export default { ports, gateways: { 'gpt-*': { url: 'https://gateway.example/v1', apiKey: 'k' } } };`,
  });
  expect(await loadInNode(directory)).toMatchObject({
    appUrl: 'http://127.0.0.1:9000',
    ports: { runService: 9000, scenarioServer: 8321 },
    models: { gateways: [{ pattern: 'gpt-*', baseUrl: 'https://gateway.example/v1', apiKey: 'k' }] },
  });
});

test('a configuration in TypeScript of a package that is no module says what to do', async () => {
  const directory = directoryOf({ 'package.json': '{}', 'proctor.config.ts': 'export default {};' });
  await expect(loadInNode(directory)).rejects.toThrow(
    'proctor.config.ts could not be loaded: its package.json does not say "type": "module"; say so there, or name the',
  );
  const renamed = directoryOf({
    'package.json': '{}',
    'proctor.config.mts': 'export default { store: "sqlite:a.db" };',
  });
  expect(await loadInNode(renamed)).toMatchObject({ databaseUrl: 'sqlite:a.db' });
});

test.each([
  ['export default { ports: { runService: "x" } }', 'proctor.config.js is not a configuration. ports.runService: '],
  [
    'export default { environment: {} }',
    'proctor.config.js is not a configuration. It has no setting "environment"; there are ',
  ],
  ['export default 3', 'proctor.config.js is not a configuration. Its default export: '],
  ['export const config = {}', 'proctor.config.js could not be loaded: it has no default export'],
  ['throw new Error("the author failed")', 'proctor.config.js could not be loaded: the author failed'],
  ['export default {', 'proctor.config.js could not be loaded: '],
])('the configuration %j is an error that names file and fault', async (text, message) => {
  await expect(loadProject(directoryOf({ 'proctor.config.js': text }), {})).rejects.toThrow(message);
});

test('a configured path without a module is an error that names it', async () => {
  const directory = directoryOf({ 'proctor.config.js': "export default { environments: { a: './missing.ts' } }" });
  await expect(loadProject(directory, {})).rejects.toThrow('"a": there is no module at "./missing.ts"');
});

test('.env is read and never overrides a variable that is set', async () => {
  const directory = directoryOf({
    '.env': 'PROCTOR_API_KEY=from-file\nPROCTOR_APP_URL=https://file.example/\nOPENAI_API_KEY="quoted"\n',
  });
  const variables: NodeJS.ProcessEnv = { PROCTOR_API_KEY: 'from-process' };
  const { settings } = await loadProject(directory, variables);
  expect(settings).toMatchObject({
    apiKey: 'from-process',
    appUrl: 'https://file.example',
    isAppUrlNamed: true,
    models: { gatewayApiKey: 'quoted' },
  });
});

test('variables win over the configuration', async () => {
  const config = { ...NO_CONFIG, store: 'sqlite:mine.db', queue: 'redis://a' };
  expect(readSettings({}, config)).toMatchObject({ databaseUrl: 'sqlite:mine.db', queueUrl: 'redis://a' });
  const variables = { PROCTOR_DATABASE_URL: 'sqlite:/data/x.db', PROCTOR_QUEUE_URL: 'redis://b' };
  expect(readSettings(variables, config)).toMatchObject({ databaseUrl: 'sqlite:/data/x.db', queueUrl: 'redis://b' });
});

test.each([
  [{ PROCTOR_DATABASE_URL: 'mysql://user:secret@db' }, 'starts with "mysql"; it has to be "sqlite:<path>"'],
  [{ PROCTOR_DATABASE_URL: 'sqlite:' }, 'it has to be "sqlite:<path>"'],
  [
    { PROCTOR_QUEUE_URL: 'amqp://user:secret@mq' },
    'starts with "amqp"; it has to be "redis://..." or "postgres://..."',
  ],
  [{ PROCTOR_APP_URL: 'proctor.example' }, 'PROCTOR_APP_URL is "proctor.example"; it has to be a URL that starts with'],
  [{ PROCTOR_ALLOWED_HOSTS: 'http://x' }, 'PROCTOR_ALLOWED_HOSTS: "http://x" is not a host name'],
])('the variables %j are an error that says what would be right', (variables, message) => {
  expect(() => readSettings(variables, NO_CONFIG)).toThrow(message);
  expect(() => readSettings(variables, NO_CONFIG)).not.toThrow('secret');
});

test('a variable that is set to nothing is as one that is not set', () => {
  expect(readSettings({ PROCTOR_DATABASE_URL: '', PROCTOR_APP_URL: ' ' }, NO_CONFIG).databaseUrl).toBe(
    'sqlite:.proctor/proctor.db',
  );
});

test('an environment is named by its name, the path of its module or directory, or a URL', async () => {
  const directory = directoryOf({ 'environments/a/environment.ts': '', 'mine/environment.ts': '', 'mine/shop.ts': '' });
  const known = findEnvironments(directory, NO_CONFIG);
  const resolved = (text: string) => resolveEnvironment(text, known, directory);
  expect(resolved('a')).toEqual({ name: 'a', target: known.get('a') });
  const mine = { name: 'mine', target: { kind: 'module', path: join(directory, 'mine/environment.ts') } };
  expect(resolved('mine')).toEqual(mine);
  expect(resolved('./mine/environment.ts')).toEqual(mine);
  expect(resolved(join(directory, 'mine'))).toEqual(mine);
  expect(resolved('mine/shop.ts')).toMatchObject({ name: 'shop' });
  expect(resolved('http://localhost:8765/mcp')).toEqual({
    name: 'localhost:8765',
    target: { kind: 'url', url: 'http://localhost:8765/mcp' },
  });
});

test('an environment that nothing names is env_not_found with the known names', () => {
  const directory = directoryOf({ 'environments/a/environment.ts': '', 'environments/b/environment.ts': '' });
  const known = findEnvironments(directory, NO_CONFIG);
  expect(() => resolveEnvironment('c', known, directory)).toThrow(
    'There is no environment "c": it is neither a known name (a, b), nor the path of a module, nor a URL.',
  );
  expect(() => resolveEnvironment('c', new Map(), directory)).toThrow('neither a known name (there is none)');
});

test('defineConfig gives back what it got', () => {
  const config = { environments: { a: './a.ts' } };
  expect(defineConfig(config)).toBe(config);
});

test('a variable that an environment names and that is not set here is left out', async () => {
  const directory = directoryOf({
    'proctor.config.mjs': `export default { environments: {
      shop: { command: 'python3', env: { SHOP_KEY: process.env.NOWHERE_SET, MODE: 'x' } } } };`,
  });
  const { environments } = await loadProject(directory, {});
  expect(environments.get('shop')).toMatchObject({ env: { MODE: 'x' } });
});

test.each([
  ["gateways: { 'a-*': { url: 'https://gateway.example/v1', apiKey: KEY } }", 'gateway_key'],
  ["trainers: { tuner: { kind: 'openai', url: 'https://trainer.example/v1', apiKey: KEY } }", 'trainer_key'],
])('an environment is not given the key of another: %s', async (setting, name) => {
  const directory = directoryOf({
    'proctor.config.mjs': `const KEY = 'key-of-another-1'; export default { ${setting}, environments: {
      shop: { command: 'python3', env: { MODEL_KEY: KEY } } } };`,
  });
  await expect(loadProject(directory, {})).rejects.toThrow(
    `environments.shop.env gives MODEL_KEY the value of ${name}`,
  );
});

test('the path of a module that the configuration names has the settings of that environment', async () => {
  const directory = directoryOf({
    'proctor.config.mjs': "export default { environments: { shop: { path: './other', env: { MODE: 'x' } } } };",
    'other/environment.js': '',
  });
  const { environments } = await loadProject(directory, {});
  const found = resolveEnvironment('./other/environment.js', environments, directory);
  expect(found).toMatchObject({ name: 'other', target: { kind: 'module', env: { MODE: 'x' } } });
});

test('the engine of sandboxes is named by the variable or the configuration, and each process gets it with the engine variables', async () => {
  const files = {
    'environments/a/environment.ts': '',
    'proctor.config.js': `export default { sandbox: { engine: 'docker', docker: { host: 'unix:///one.sock' } } }`,
  };
  const settingsOf = async (variables: NodeJS.ProcessEnv) => {
    const { environments } = await loadProject(directoryOf(files), variables);
    const target = environments.get('a');
    return JSON.parse((target?.kind === 'module' && target.env?.PROCTOR_SANDBOX) || '{}') as unknown;
  };
  const owner = expect.any(String);
  expect(await settingsOf({})).toEqual({ engine: 'docker', docker: { host: 'unix:///one.sock' }, owner });
  expect(await settingsOf({ PROCTOR_SANDBOX: 'none', DOCKER_HOST: 'tcp://h:1', SECRET: 's' })).toEqual({
    engine: 'none',
    docker: { host: 'unix:///one.sock' },
    owner,
    variables: { DOCKER_HOST: 'tcp://h:1' },
  });
});

test('a wrong engine of sandboxes is refused with all names', async () => {
  const wrong = loadProject(directoryOf({}), { PROCTOR_SANDBOX: 'dokcer' });
  await expect(wrong).rejects.toThrow(
    'PROCTOR_SANDBOX is "dokcer"; it has to be one of bubblewrap, docker, kubernetes, none, or nothing.',
  );
  const config = directoryOf({ 'proctor.config.js': `export default { sandbox: { engine: 'podman' } }` });
  await expect(loadProject(config, {})).rejects.toThrow(/sandbox\.engine/);
});

test('two databases have two owners of sandboxes, and an address does not show in one', async () => {
  const directory = directoryOf({});
  const ownerOf = async (url?: string) =>
    (await loadProject(directory, url === undefined ? {} : { PROCTOR_DATABASE_URL: url })).settings.sandbox.owner;
  const owners = [await ownerOf(), await ownerOf('sqlite:other.db'), await ownerOf('postgres://u:secret@h/db')];
  expect(new Set(owners).size).toBe(3);
  expect(owners.join()).not.toContain('secret');
  expect(await ownerOf()).toBe(owners[0]);
});
