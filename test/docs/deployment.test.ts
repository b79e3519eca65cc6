import { cpSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadProject } from '../../src/service/config/project.ts';
import { createProject, PATIENCE, proctor, start } from '../cli/command.ts';
import { freePort } from '../free-port.ts';
import { sharedPostgres } from '../postgres.ts';
import { send } from '../support/http/http-server.ts';
import { helpOf } from './command-help.ts';
import { blocksOf, createFolder, ROOT, read } from './documents.ts';

const PAGE = 'docs/deployment.md';

describe(PAGE, PATIENCE, () => {
  it('its four commands lead to two workers on Postgres, which execute what the server accepts', async () => {
    const [block = ''] = blocksOf(PAGE, '');
    const [database, variable, ...commands] = block.trim().split('\n');
    expect(database).toMatch(/^docker run .*--name proctor-postgres .*--volume proctor-postgres:\S+ .* postgres:\d+$/);
    expect(variable).toMatch(/^echo PROCTOR_DATABASE_URL=postgres:\/\/\S+ >> \.env$/);
    expect(commands).toEqual(['npx proctor serve --no-worker', 'npx proctor worker']);
    const [serve = [], worker = []] = commands.map((line) => line.split(' ').slice(2));

    const cwd = createProject('counter');
    const address = await (await sharedPostgres()).createDatabase();
    writeFileSync(join(cwd, '.env'), `PROCTOR_DATABASE_URL=${address}\n`);
    const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
    const server = start([...serve, ...ports, '--json'], { cwd });
    const [line] = await server.prints(/^\{.*\}$/m);
    const { url } = z.object({ url: z.string() }).parse(JSON.parse(line));
    const created = await proctor(['keys', 'create', '--name', 'team'], { cwd });
    const healthPorts = [await freePort(), await freePort()];
    const workers = healthPorts.map((port) =>
      start([...worker, '--concurrency', '2', '--health-port', String(port)], { cwd }),
    );
    await Promise.all(workers.map(({ prints }) => prints(/Worker +\S+/)));

    const run = () =>
      send(url, '/v1/agent/run', {
        method: 'POST',
        headers: {
          authorization: `Bearer ${created.stdout.trim()}`,
          'content-type': 'application/json',
          prefer: 'wait=50',
        },
        body: JSON.stringify({
          env_name: 'counter',
          scenario_name: 'count_to',
          scenario_args: { target: 2 },
          model: 'proctor/oracle',
        }),
      });
    const replies = await Promise.all(Array.from({ length: 6 }, run));
    expect(replies.map(({ json }) => json)).toMatchObject(replies.map(() => ({ status: 'completed', reward: 1 })));
    const counted = async (base: string) => {
      const { text } = await send(base, '/metrics');
      return Number(/^proctor_runs_finished_total\{status="completed"\} (\d+)$/m.exec(text)?.[1]);
    };
    // Each process counts what it does: the server nothing, the workers all of it.
    const [byServer, ...byWorkers] = await Promise.all(
      [url, ...healthPorts.map((port) => `http://127.0.0.1:${port}`)].map(counted),
    );
    expect([byServer, byWorkers.reduce((sum, runs) => sum + runs, 0)]).toEqual([0, 6]);
    for (const each of [...workers, server]) each.process.kill('SIGTERM');
    const codes = await Promise.all([...workers, server].map(({ ended }) => ended));
    expect(codes.map(({ code }) => code)).toEqual([0, 0, 0]);
  });

  it('its configuration limits what environments may take', async () => {
    const cwd = createFolder();
    cpSync(join(ROOT, 'docs/examples/limits.config.ts'), join(cwd, 'proctor.config.ts'));
    mkdirSync(join(cwd, 'shop'));
    cpSync(join(ROOT, 'docs/examples/shared-halves.ts'), join(cwd, 'shop/environment.ts'));
    const { environments } = await loadProject(cwd, {});
    expect([...environments].map(([name, { limits }]) => [name, limits])).toEqual([
      ['shop', { concurrency: 4, memoryMiB: 512 }],
      ['desk', { memoryMiB: 4096 }],
      ['remote', { concurrency: 2 }],
    ]);
    const solved = await proctor(['run', 'shop', 'count_down', '--arg', 'start=3'], { cwd });
    expect([solved.code, solved.stdout]).toEqual([0, 'reward 1\n']);
  });

  it('the subcommands that it names exist, with the options that it gives them', async () => {
    const lines = [...read(PAGE).matchAll(/proctor (traces|keys) (\w+)([^`\n]*)/g)];
    expect(lines.length).toBeGreaterThan(5);
    for (const [line, command = '', name = '', rest = ''] of lines) {
      const help = await helpOf(command, name);
      for (const [option] of rest.matchAll(/--[a-z-]+/g))
        expect([line, help.includes(`${option} `)]).toEqual([line, true]);
    }
  });
});

it('docs/reference/configuration.md tells of every variable that Proctor and its environments read, and of no other', () => {
  const sources = ['src', 'environments'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.tsx?$/.test(path) && !/\.test\.|node_modules/.test(path))
      .map((path) => read(join(folder, path))),
  );
  const read_ = namesIn(sources.join('\n'), /(?:process\.env\.|variables\.|env\.|')(PROCTOR_[A-Z_]+)\b/g);
  const told = namesIn(read('docs/reference/configuration.md'), /`(PROCTOR_[A-Z_]+)`/g);
  expect(read_.size).toBeGreaterThan(10);
  expect([...read_].filter((name) => !told.has(name))).toEqual([]);
  expect([...told].filter((name) => !sources.some((text) => text.includes(name)))).toEqual([]);
});

function namesIn(text: string, pattern: RegExp): ReadonlySet<string> {
  return new Set([...text.matchAll(pattern)].map(([, name = '']) => name));
}
