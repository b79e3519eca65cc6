import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { listen } from '../../src/support/http/listen.ts';
import { createPages } from '../../src/web/pages.ts';
import { createLab } from '../environment/dev/project.ts';
import { freePort } from '../free-port.ts';
import { sharedPostgres } from '../postgres.ts';
import { openParts, startService } from '../service/runs/service.ts';
import { send } from '../support/http/http-server.ts';
import { createProject, PATIENCE, proctor, start, takenPort } from './command.ts';

const startedSchema = z.object({
  url: z.string(),
  scenarios_url: z.string(),
  address: z.string(),
  environments: z.array(z.string()),
  key_file: z.string().nullable(),
});

async function serve(cwd: string, env: Readonly<Record<string, string>> = {}) {
  const [port, scenarioPort] = [await freePort(), await freePort()];
  const ports = ['--port', String(port), '--scenario-port', String(scenarioPort)];
  const service = start(['serve', ...ports, '--json'], { cwd, env });
  const [line] = await service.prints(/^\{.*\}$/m);
  return { service, ...startedSchema.parse(JSON.parse(line)), port };
}

describe('proctor serve', PATIENCE, () => {
  it('makes a key at its first start, answers, signs a browser in, and ends with 0 on SIGTERM', async () => {
    const cwd = createProject('counter');
    const { service, url, scenarios_url, address, environments, port } = await serve(cwd);
    expect([url, environments]).toEqual([`http://127.0.0.1:${port}`, ['counter']]);

    const keyFile = join(cwd, '.proctor', 'key');
    expect(statSync(keyFile).mode & 0o777).toBe(0o600);
    expect(statSync(join(cwd, '.proctor')).mode & 0o777).toBe(0o700);
    const key = readFileSync(keyFile, 'utf8').trim();
    const accepted = await send(url, '/v1/agent/run', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', prefer: 'wait=60' },
      body: JSON.stringify({
        env_name: 'counter',
        scenario_name: 'count_to',
        scenario_args: { target: 2 },
        model: 'proctor/oracle',
      }),
    });
    expect([accepted.status, accepted.json]).toMatchObject([
      200,
      { status: 'completed', reward: 1, trace_url: expect.stringContaining(`${url}/traces/`) },
    ]);

    const chat = (fields: object, headers: Readonly<Record<string, string>> = {}) =>
      send(scenarios_url, '/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({
          messages: [{ role: 'user', content: 'Go.' }],
          scenario: 'count_to',
          scenario_args: { target: 2 },
          ...fields,
        }),
      });
    expect((await chat({})).status).toBe(401);
    const headers = { authorization: `Bearer ${key}` };
    expect((await chat({}, headers)).json).toMatchObject({
      svc: { status: 'active', steps: 2, trace_url: expect.stringContaining(`${url}/traces/`) },
    });
    const other = await chat({ model: 'some-model' }, headers);
    expect([other.status, other.text]).toEqual([404, expect.stringContaining('PROCTOR_GATEWAY_URL')]);

    const { pathname, search } = new URL(address);
    const signedIn = await send(url, `${pathname}${search}`);
    expect(signedIn.status).toBe(303);

    const up = await proctor(['open', '--port', String(port)], { cwd });
    expect([up.code, up.stdout, up.stderr]).toEqual([0, expect.stringContaining(`${url}/?token=`), '']);
    const args = ['run', 'counter', 'count_to', '--arg', 'target=1', '--quiet'];
    const played = await proctor(args, { cwd, env: { PROCTOR_APP_URL: url } });
    expect(played.stderr).toMatch(/^To see what happened: npx proctor open [0-9a-f]{32}$/m);
    const free = `http://127.0.0.1:${await freePort()}`;
    const unserved = await proctor(args, { cwd, env: { PROCTOR_APP_URL: free } });
    expect(unserved.stderr).toMatch(
      /: start npx proctor serve in another terminal, then npx proctor open [0-9a-f]{32}$/m,
    );

    // The pages and the playground lead to each other.
    const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? '';
    expect((await send(url, '/', { headers: { cookie } })).text).toContain(`data-playground="${scenarios_url}/"`);
    const playground = await send(scenarios_url, '/', { headers: { cookie } });
    expect(playground.text).toContain(`data-run-service="${url}"`);

    service.process.kill('SIGTERM');
    const { code, signal, stdout, stderr } = await service.ended;
    expect([code, signal]).toEqual([0, null]);
    expect(stdout.trim().split('\n')).toHaveLength(1);
    expect(stderr).not.toContain(key);

    const { trace_id } = z.object({ trace_id: z.string() }).parse(accepted.json);
    const opened = await proctor(['open', trace_id, '--port', '9', '--json'], { cwd });
    expect([opened.code, JSON.parse(opened.stdout)]).toEqual([
      0,
      { address: expect.stringMatching(new RegExp(`^http://127.0.0.1:9/traces/${trace_id}\\?token=[\\w-]{43}$`)) },
    ]);
    expect(opened.stderr).toContain('start it with "proctor serve"');
  });

  it('runs close hooks and then shutdown hooks of every live session on SIGTERM, also where sessions share a process', async () => {
    const { directory: cwd } = createLab(`import { appendFileSync } from 'node:fs';
import { EnvironmentServer } from 'proctor';
let made = 0;
export default function lab() {
  const name = ++made;
  const env = new EnvironmentServer({ name: 'lab', version: '1', sessionsPerProcess: 4 });
  const note = (what: string) => () => appendFileSync('notes', what + ' ' + name + '\\n');
  env.close(note('close'));
  env.shutdown(note('shutdown 1'));
  env.shutdown(note('shutdown 2'));
  env.scenario('exam', { solution: () => ({ calls: [], answer: 'x' }) }, async function* () {
    yield 'Answer.';
    return 1;
  });
  return env;
}
`);
    const notes = join(cwd, 'notes');
    const { service, scenarios_url } = await serve(cwd);
    const key = readFileSync(join(cwd, '.proctor', 'key'), 'utf8').trim();
    const chat = () =>
      send(scenarios_url, '/v1/chat/completions', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          messages: [{ role: 'user', content: 'Go.' }],
          scenario: 'exam',
          scenario_args: {},
        }),
      });
    const replies = await Promise.all([chat(), chat()]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    writeFileSync(notes, '');
    service.process.kill('SIGTERM');
    expect((await service.ended).code).toBe(0);
    const lines = readFileSync(notes, 'utf8').trim().split('\n');
    for (const session of ['1', '2']) {
      const own = lines.filter((line) => line.endsWith(` ${session}`)).map((line) => line.slice(0, -2));
      expect(own).toEqual(['close', 'shutdown 2', 'shutdown 1']);
    }
    expect(lines).toHaveLength(6);
  });

  it('prints addresses that sign a browser in to the pages and to the playground', async () => {
    const [port, scenarioPort] = [await freePort(), await freePort()];
    const ports = ['--port', String(port), '--scenario-port', String(scenarioPort)];
    const service = start(['serve', ...ports], { cwd: createProject() });
    const [, address = ''] = await service.prints(/^Playground +(\S+)$/m);
    const { origin, pathname, search } = new URL(address);
    expect(origin).toBe(`http://127.0.0.1:${scenarioPort}`);
    const signedIn = await send(origin, `${pathname}${search}`);
    const cookie = String(signedIn.headers['set-cookie']).split(';')[0] ?? '';
    expect((await send(origin, '/', { headers: { cookie } })).text).toContain('data-model="proctor/oracle"');
  });

  it('keeps the key of its first start', async () => {
    const cwd = createProject();
    await proctor(['keys', 'create', '--name', 'mine'], { cwd });
    const { service } = await serve(cwd);
    service.process.kill('SIGINT');
    expect((await service.ended).code).toBe(0);
    expect(() => statSync(join(cwd, '.proctor', 'key'))).toThrow('ENOENT');
  });

  it('keeps a key for each database, so that going to another one and back locks nobody out', async () => {
    const cwd = createProject();
    const start = async (database?: string) => {
      const { service, url, key_file } = await serve(
        cwd,
        database === undefined ? {} : { PROCTOR_DATABASE_URL: database },
      );
      const key = readFileSync(join(cwd, key_file ?? ''), 'utf8').trim();
      const headers = { authorization: `Bearer ${key}` };
      expect((await send(url, '/v1/environments', { headers })).status).toBe(200);
      service.process.kill('SIGTERM');
      expect((await service.ended).stderr).not.toContain('.proctor/key');
      return { key_file, key };
    };
    const first = await start();
    expect(first.key_file).toBe('.proctor/key');
    const other = await start('sqlite:other.db');
    expect(other).toEqual({
      key_file: expect.stringMatching(/^\.proctor\/keys\/sqlite-other\.db-[0-9a-f]{8}$/),
      key: expect.not.stringMatching(first.key),
    });
    expect(statSync(join(cwd, other.key_file ?? '')).mode & 0o777).toBe(0o600);
    expect(await start(await (await sharedPostgres()).createDatabase())).toEqual({
      key_file: expect.stringMatching(/^\.proctor\/keys\/postgres-127\.0\.0\.1-\d+-\w+-[0-9a-f]{8}$/),
      key: expect.stringMatching(/^pk_/),
    });
    expect(await start()).toEqual(first);
    expect(await start('sqlite:other.db')).toEqual(other);
  });

  it('takes over a key of the one file of before, and puts aside one that the database does not have', async () => {
    const cwd = createProject();
    const start = async () => {
      const { service, key_file } = await serve(cwd, { PROCTOR_DATABASE_URL: 'sqlite:other.db' });
      service.process.kill('SIGTERM');
      return { key_file: key_file ?? '', stderr: (await service.ended).stderr };
    };
    const read = (file: string) => readFileSync(join(cwd, file), 'utf8');
    const { key_file } = await start();
    const key = read(key_file);
    renameSync(join(cwd, key_file), join(cwd, '.proctor', 'key'));
    await start();
    expect([read(key_file), read('.proctor/key')]).toEqual([key, key]);

    rmSync(join(cwd, 'other.db'));
    const said = (await start()).stderr;
    const [, aside = ''] = /the one before in (\.proctor\/keys\/\S+)\.$/m.exec(said) ?? [];
    expect([read(aside), statSync(join(cwd, aside)).mode & 0o777]).toEqual([key, 0o600]);
    writeFileSync(join(cwd, key_file), key);
    expect((await start()).stderr).toContain(`The key in ${key_file} is not in force in this database`);
  });

  it('says that it executes nothing, and names its database', async () => {
    const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
    const service = start(['serve', '--no-worker', ...ports], { cwd: createProject() });
    await service.prints(/^Database +sqlite:\.proctor\/proctor\.db$/m);
    await service.prints(/^Worker +none here: runs wait until a "proctor worker"/m);
  });

  it('ends with 1 and a clear error when one of its ports is in use', async () => {
    const cwd = createProject();
    const [taken, free] = [await takenPort(), String(await freePort())];
    const [first, second] = await Promise.all([
      proctor(['serve', '--port', taken, '--scenario-port', free], { cwd }),
      proctor(['serve', '--port', free, '--scenario-port', taken], { cwd: createProject() }),
    ]);
    const inUse = (option: string) =>
      expect.stringMatching(new RegExp(`^proctor: Port ${taken} on 127.0.0.1 is in use.*with ${option}\\.$`, 'm'));
    expect([first.code, first.stdout, first.stderr]).toEqual([1, '', inUse('--port')]);
    expect([second.code, second.stdout, second.stderr]).toEqual([1, '', inUse('--scenario-port')]);
  });

  it('refuses to be reachable from elsewhere with the local key alone, and says what to do', async () => {
    const cwd = createProject();
    const first = await serve(cwd);
    first.service.process.kill('SIGTERM');
    await first.service.ended;
    const { code, stderr } = await proctor(['serve', '--host', '0.0.0.0', '--port', String(await freePort())], { cwd });
    expect(code).toBe(1);
    expect(stderr).toContain('proctor keys create');
  });

  it.each([
    [['--port', '0'], /'0'.*from 1 to 65535/],
    [['--concurrency', 'all'], /'all'/],
  ])('%j ends with 2', async (args, message) => {
    const { code, stderr } = await proctor(['serve', ...args], { cwd: createProject() });
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });
});

describe('proctor open', PATIENCE, () => {
  it('prints an address of the pages, alone on standard output', async () => {
    const { code, stdout } = await proctor(['open'], {
      cwd: createProject(),
      env: { PROCTOR_APP_URL: 'https://traces.example' },
    });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^https:\/\/traces\.example\/\?token=[\w-]{43}\n$/)]);
  });

  it('prints no token where something other than Proctor listens, and says what does', async () => {
    const asked: string[] = [];
    const stranger = await listen(
      (request, response) => {
        asked.push(`${request.url} ${request.headers.authorization ?? ''}`);
        response.writeHead(200, { server: 'other/1.0', 'content-type': 'application/json' }).end('{"status":"ok"}');
      },
      { host: '127.0.0.1', port: 0 },
    );
    onTestFinished(() => stranger.close());
    const cwd = createProject();
    const { code, stdout, stderr } = await proctor(['open'], { cwd, env: { PROCTOR_APP_URL: stranger.url } });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`What listens at ${stranger.url} is not Proctor: other/1.0.`);
    expect(asked).toEqual(['/openapi.json ']);
  });

  it('prints no address beside the server of another project, and says the way', async () => {
    const parts = await openParts();
    const other = await startService({ parts, pages: createPages(parts) });
    const cwd = createProject();
    const { code, stdout, stderr } = await proctor(['open'], { cwd, env: { PROCTOR_APP_URL: other.url } });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`The Proctor at ${other.url} has another database than this directory`);
    expect(stderr).toContain('proctor open --port');
  });

  it.each(['f'.repeat(32), '../etc'])('ends with 1 for %s, which is no trace', async (traceId) => {
    const { code, stdout, stderr } = await proctor(['open', traceId, '--json'], { cwd: createProject() });
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`There is no trace "${traceId}"`);
  });
});
