import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { checkGateway } from '../../src/cli/serve/doctor/gateway-checks.ts';
import { openDatabase } from '../../src/store/database/open-database.ts';
import { createDatabaseQueue } from '../../src/store/queue/database-queue.ts';
import { createTraceStore } from '../../src/store/traces/database-store.ts';
import { freePort } from '../free-port.ts';
import { sharedPostgres } from '../postgres.ts';
import { type CommandOptions, createProject, PATIENCE, proctor, start, takenPort } from './command.ts';
import { environmentsOf } from './processes.ts';

const reportSchema = z.object({
  healthy: z.boolean(),
  checks: z.array(
    z.object({
      name: z.string(),
      status: z.enum(['ok', 'warn', 'fail']),
      message: z.string(),
      lines: z.array(z.string()).optional(),
      facts: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
});

/** The program of a module's process, which serves over standard input and output when it is told nothing else. */
const ENVIRONMENT_PROGRAM = fileURLToPath(
  new URL('../../dist/environment/server/start/environment-main.js', import.meta.url),
);

/** Runs `proctor doctor --json` on free ports, and gives each finding by its name. */
async function examine(
  cwd: string,
  { args = [], env = {} }: { args?: readonly string[]; env?: CommandOptions['env'] } = {},
) {
  const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
  const { code, stdout, stderr } = await proctor(['doctor', ...ports, ...args, '--json'], { cwd, env: env ?? {} });
  const { healthy, checks } = reportSchema.parse(JSON.parse(stdout));
  const by = (name: string) => checks.find((check) => check.name === name);
  return { code, stdout, stderr, healthy, checks, by };
}

/** An HTTP server on loopback, until the test ends. */
async function serveHttp(listener: RequestListener): Promise<string> {
  const server = createHttpServer(listener);
  const port = await listening(server);
  onTestFinished(() => server.closeAllConnections());
  return `http://127.0.0.1:${port}`;
}

async function serveSocket(answer: (text: string, socket: Socket) => void): Promise<number> {
  return await listening(createServer((socket) => socket.on('data', (bytes) => answer(bytes.toString(), socket))));
}

async function listening(server: ReturnType<typeof createServer> | ReturnType<typeof createHttpServer>) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  onTestFinished(() => void server.close());
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('No port');
  return address.port;
}

function writeEnvironment(cwd: string, name: string, code: string): void {
  mkdirSync(join(cwd, 'environments', name));
  writeFileSync(join(cwd, 'environments', name, 'environment.ts'), code);
}

describe('proctor doctor', PATIENCE, () => {
  it('is content where nothing was ever started, makes nothing, and prints a line for each check', async () => {
    const cwd = createProject('counter');
    const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
    const { code, stdout, stderr } = await proctor(['doctor', ...ports], { cwd });
    expect([code, stderr]).toEqual([0, '']);
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => line.slice(0, 28).trim()),
    ).toEqual([
      'ok    node',
      'ok    project',
      'ok    store',
      'ok    disk',
      'ok    queue',
      'ok    keys',
      'warn  gateway',
      'ok    environment counter',
      'warn  secrets',
      `ok    port ${ports[1]}`,
      `ok    port ${ports[3]}`,
    ]);
    expect(stdout).toMatch(/gateway .*set PROCTOR_GATEWAY_URL/);
    expect(stdout).toMatch(/environment counter .* is up in \d+ ms over MCP [\d-]+: 2 scenarios, 3 tools/);
    expect(stdout).not.toContain('\u001b');
    expect(existsSync(join(cwd, '.proctor'))).toBe(false);
  });

  it('beside a server that runs: knows its own ports, its store, its queue and its keys', async () => {
    const cwd = createProject('counter');
    const [port, scenarioPort] = [String(await freePort()), String(await freePort())];
    const service = start(['serve', '--port', port, '--scenario-port', scenarioPort, '--json'], { cwd });
    await service.prints(/^\{.*\}$/m);
    const { code, by, healthy } = await examine(cwd, { args: ['--port', port, '--scenario-port', scenarioPort] });
    expect([code, healthy]).toEqual([0, true]);
    expect(by(`port ${port}`)).toMatchObject({ status: 'ok', message: "Proctor's run service is up and ready there" });
    expect(by(`port ${scenarioPort}`)).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('up and ready'),
    });
    expect(by('store')).toMatchObject({
      status: 'ok',
      message: expect.stringMatching(/^sqlite:\.proctor\/proctor\.db opens: SQLite [\d.]+, journal wal, [\d.]+ k?B$/),
    });
    expect(by('queue')?.facts).toEqual({ queued: 0, running: 0, leased: 0, oldest_waiting_ms: null });
    expect(by('keys')).toMatchObject({ status: 'ok', message: '1 key in force' });
    chmodSync(join(cwd, '.proctor', 'key'), 0o644);
    chmodSync(join(cwd, '.proctor', 'proctor.db'), 0o640);
    const open = await examine(cwd);
    expect(open.by('store')).toMatchObject({ status: 'warn', message: expect.stringContaining('chmod 600') });
    expect(open.by('keys')).toMatchObject({ status: 'warn', message: expect.stringContaining('chmod 600') });
  });

  it('says what is wrong with each part and what to do, prints no secret, and ends with 1', async () => {
    const cwd = createProject('counter');
    const gateway = await serveHttp((request, response) => {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: `No such key: ${request.headers.authorization}` } }));
    });
    writeEnvironment(
      cwd,
      'broken',
      "console.error('The shop has no shelves: ' + process.env.LC_SHOP);\nprocess.exit(3);\n",
    );
    writeFileSync(join(cwd, 'store.db'), 'This is a letter, not a database. '.repeat(100));
    const port = await takenPort();
    const env = {
      PROCTOR_DATABASE_URL: 'sqlite:store.db',
      PROCTOR_GATEWAY_URL: `${gateway}/v1`,
      PROCTOR_GATEWAY_API_KEY: 'sk-planted-gateway-key',
      PROCTOR_API_KEY: 'pk_planted_client_key',
      LC_SHOP: 'pk_planted_client_key',
    };
    const { code, stdout, stderr, healthy, by } = await examine(cwd, { args: ['--port', port], env });
    expect([code, stderr, healthy]).toEqual([1, '', false]);
    expect(by('store')).toMatchObject({
      status: 'fail',
      message: expect.stringMatching(/not a database.*PROCTOR_DATABASE_URL/),
    });
    expect(by('queue')?.status).toBe('warn');
    expect(by('gateway')).toMatchObject({
      status: 'fail',
      message: `${gateway}/v1 refuses the key (HTTP 401): set PROCTOR_GATEWAY_API_KEY`,
    });
    expect(by('environment broken')).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('exited with code 3'),
      lines: expect.arrayContaining([expect.stringContaining('The shop has no shelves: [redacted:')]),
    });
    expect(by('environment counter')?.status).toBe('ok');
    expect(by(`port ${port}`)).toMatchObject({ status: 'fail', message: expect.stringContaining('with --port') });
    expect(stdout).not.toMatch(/planted/);
  });

  it.skipIf(process.platform !== 'linux')(
    'an environment that loads the keys of the project by itself fails, by the name of the variable',
    async () => {
      const cwd = createProject('counter');
      writeFileSync(join(cwd, '.env.mine'), 'CLAUDE_KEY=sk-planted-gateway-key\n');
      writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
      writeEnvironment(
        cwd,
        'loads',
        "import { loadEnvFile } from 'node:process';\nimport counter from '../counter/environment.ts';\n" +
          `loadEnvFile(${JSON.stringify(join(cwd, '.env.mine'))});\nexport default counter;\n`,
      );
      const env = { PROCTOR_API_KEY: 'sk-planted-gateway-key' };
      const alone = await examine(cwd, { args: ['counter'], env });
      expect([alone.code, alone.by('secrets')]).toMatchObject([
        0,
        { status: 'ok', facts: { keys: 1, looked_at: ['counter'], held: {}, not_tried: {} } },
      ]);
      const { code, by, stdout } = await examine(cwd, { env });
      expect(by('environment loads')).toMatchObject({ status: 'ok' });
      expect([code, by('secrets')]).toMatchObject([
        1,
        {
          status: 'fail',
          message: expect.stringContaining('environment loads: A process of it holds'),
          facts: { looked_at: ['counter', 'loads'], held: { loads: ['CLAUDE_KEY'] } },
        },
      ]);
      expect(stdout).not.toContain('planted');
    },
  );

  it.skipIf(process.platform !== 'linux')(
    'finds a key that a command was started with, and says what it cannot see',
    async () => {
      const cwd = createProject('counter');
      writeFileSync(join(cwd, '.env.mine'), 'CLAUDE_KEY=sk-planted-gateway-key\n');
      const serving = 'exec "$0" "$1" environments/counter/environment.ts';
      const words = ['-c', `set -a; . ./.env.mine; ${serving}`, process.execPath, ENVIRONMENT_PROGRAM];
      const environments = {
        program: { command: 'sh', args: words, cwd },
        elsewhere: { url: `http://127.0.0.1:${await freePort()}/mcp` },
      };
      writeFileSync(join(cwd, 'proctor.config.mjs'), `export default ${JSON.stringify({ environments })};\n`);
      const env = { PROCTOR_API_KEY: 'sk-planted-gateway-key' };
      const { by, stdout } = await examine(cwd, { args: ['program', 'elsewhere'], env });
      expect(by('environment program')?.status).toBe('ok');
      expect(by('secrets')).toMatchObject({
        status: 'fail',
        lines: [expect.stringContaining('elsewhere (it is a server elsewhere); program (it is a command')],
        facts: { looked_at: ['program'], held: { program: ['CLAUDE_KEY'] } },
      });
      expect(stdout).not.toContain('planted');
    },
  );

  it('a configuration that does not load hides nothing that can be looked at without it', async () => {
    const cwd = createProject('counter');
    writeFileSync(join(cwd, 'proctor.config.mjs'), "throw new Error('the vault is closed');");
    const { code, checks } = await examine(cwd);
    expect([code, checks.map(({ status }) => status)]).toEqual([1, ['ok', 'fail', 'ok', 'ok']]);
    expect(checks[1]?.message).toContain('the vault is closed');
  });

  it('an environment that never answers is given up after its limit, and nothing of it is left', async () => {
    const cwd = createProject();
    writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
    writeEnvironment(cwd, 'stuck', 'setInterval(() => {}, 1000);\nawait new Promise(() => {});\n');
    const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
    const command = start(['doctor', '--limit-seconds', '1', ...ports], { cwd });
    const { code, stdout } = await command.ended;
    expect(code).toBe(1);
    expect(stdout).toMatch(/^fail {2}environment stuck .*did not finish connecting within 1000 ms/m);
    expect(environmentsOf(command.process.pid)).toEqual([]);
  });

  it('warns of runs that wait for a worker, and not of a seat that waits for its agent', async () => {
    const cwd = createProject();
    mkdirSync(join(cwd, '.proctor'));
    const database = await openDatabase(`sqlite:${join(cwd, '.proctor', 'proctor.db')}`);
    const [before, queue] = [Date.now() - 20_000, createDatabaseQueue(database)];
    const store = createTraceStore(database, { appUrl: 'http://127.0.0.1', now: () => before });
    const task = { env_name: 'counter', scenario_name: 'count_to', scenario_args: {}, model: 'proctor/noop' } as const;
    const limits = { max_steps: 1, timeout_seconds: 60, seed: null, sampling: {}, metadata: {}, priority: 0 };
    await store.create({ traceId: 'c'.repeat(32), account: 'local', queued: { origin: 'agent', ...task, ...limits } });
    const seated = await examine(cwd);
    expect([seated.code, seated.by('queue')]).toMatchObject([0, { status: 'ok', facts: { queued: 0, running: 0 } }]);
    for (const traceId of ['a', 'b'].map((digit) => digit.repeat(32))) {
      await store.create({ traceId, account: 'local', queued: { origin: 'run', ...task, ...limits } }, (transaction) =>
        queue.enqueue({ traceId, priority: 0 }, transaction),
      );
    }
    const { code, by } = await examine(cwd);
    await database.close();
    expect([code, by('queue')?.status]).toEqual([0, 'warn']);
    expect(by('queue')?.message).toMatch(/2 runs waiting, the oldest for \d+ s, 0 running .*nobody executes them/);
  });

  it('warns of a kept key that is not in force in this database', async () => {
    const cwd = createProject();
    await proctor(['keys', 'create', '--name', 'mine'], { cwd });
    writeFileSync(join(cwd, '.proctor', 'key'), 'pk_of_another_database\n', { mode: 0o600 });
    const { code, by, stdout } = await examine(cwd);
    expect([code, by('keys')]).toMatchObject([
      0,
      { status: 'warn', message: expect.stringMatching(/not in force in this database: .*proctor keys create/) },
    ]);
    expect(stdout).not.toContain('pk_of_another_database');
  });

  it('warns of a collector where nothing listens', async () => {
    const cwd = createProject();
    const collector = await serveHttp((_, response) => response.end('{}'));
    const away = `http://127.0.0.1:${await freePort()}`;
    const [up, down] = await Promise.all([
      examine(cwd, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector } }),
      examine(cwd, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: away } }),
    ]);
    expect([up.code, up.by('telemetry')?.status]).toEqual([0, 'ok']);
    expect([down.code, down.by('telemetry')]).toMatchObject([
      0,
      { status: 'warn', message: expect.stringContaining(`nothing listens at ${away}`) },
    ]);
  });

  it('tells a store that a newer version wrote', async () => {
    const cwd = createProject();
    const database = await openDatabase(`sqlite:${join(cwd, '.proctor', 'proctor.db')}`);
    const step = { name: '9999_of_tomorrow', timestamp: new Date().toISOString() };
    await database.kysely
      .insertInto('kysely_migration' as never)
      .values(step as never)
      .execute();
    await database.close();
    const { code, by } = await examine(cwd);
    expect([code, by('store')?.message]).toEqual([
      1,
      expect.stringMatching(/newer Proctor .*9999_of_tomorrow.*update/),
    ]);
  });

  it('refuses the thought of an address beyond loopback without a key of one’s own', async () => {
    const cwd = createProject();
    const without = await examine(cwd, { args: ['--host', '0.0.0.0'] });
    expect([without.code, without.by('keys')]).toMatchObject([
      1,
      { status: 'fail', message: expect.stringContaining('proctor keys create --name') },
    ]);
    await proctor(['keys', 'create', '--name', 'ci'], { cwd });
    const withOne = await examine(cwd, { args: ['--host', '0.0.0.0'] });
    expect([withOne.code, withOne.by('keys')?.status]).toEqual([0, 'ok']);
  });

  it.each([
    {
      reply: [200, { object: 'list', data: [{ id: 'a' }, { id: 'b' }] }],
      status: 'ok',
      message: /lists 2 models in \d+ ms$/,
    },
    { reply: [404, {}], status: 'warn', message: /lists no models.*Add \/v1 to PROCTOR_GATEWAY_URL/ },
    {
      reply: [500, { error: 'the key sk-planted-gateway-key broke it' }],
      status: 'fail',
      message: /HTTP 500.*\[key\]/,
    },
    { reply: [200, 'hello'], status: 'warn', message: /no list of models/ },
  ] as const)('a gateway that answers $reply', async ({ reply: [code, body], status, message }) => {
    const cwd = createProject();
    const gateway = await serveHttp((_, response) => response.writeHead(code).end(JSON.stringify(body)));
    const env = { PROCTOR_GATEWAY_URL: gateway, OPENAI_API_KEY: 'sk-planted-gateway-key' };
    const { by, stdout } = await examine(cwd, { env });
    expect(by('gateway')).toMatchObject({ status, message: expect.stringMatching(message) });
    expect(stdout).not.toContain('planted');
  });

  it('knows a store on Postgres, and says what is wrong with its address without the password', async () => {
    const cwd = createProject();
    const server = await sharedPostgres();
    const url = await server.createDatabase();
    const name = new URL(url).pathname.slice(1);
    const empty = await examine(cwd, { env: { PROCTOR_DATABASE_URL: url } });
    expect([empty.code, empty.by('store')?.message]).toEqual([
      0,
      expect.stringMatching(/opens: PostgreSQL \d.*, empty/),
    ]);
    const database = await openDatabase(url);
    await database.close();
    const { code, by, stdout } = await examine(cwd, { env: { PROCTOR_DATABASE_URL: url } });
    expect([code, by('store'), by('disk')]).toMatchObject([
      0,
      {
        status: 'ok',
        message: expect.stringContaining(`postgres://127.0.0.1:${server.port}/${name} opens: PostgreSQL`),
      },
      undefined,
    ]);
    const wrong = server.urlOf(name, { password: 'planted-password' });
    const refused = await examine(cwd, { env: { PROCTOR_DATABASE_URL: wrong } });
    expect([refused.code, refused.by('store')]).toMatchObject([
      1,
      { status: 'fail', message: expect.stringContaining('refuses the password of the user "proctor"') },
    ]);
    expect(stdout + refused.stdout).not.toMatch(/planted|pass(%40|@)word/);
  });

  it('gives up a gateway that says nothing', async () => {
    const port = await serveSocket(() => {});
    const gateway = { name: 'gateway', baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: undefined };
    const found = await checkGateway(
      { ...gateway, urlFrom: 'PROCTOR_GATEWAY_URL', keyFrom: 'PROCTOR_GATEWAY_API_KEY' },
      50,
    );
    expect(found).toMatchObject({
      status: 'fail',
      message: expect.stringMatching(/gives no answer within 0\.05 s\. Check PROCTOR_GATEWAY_URL$/),
    });
  });

  it('asks a queue on Redis with its password, and shows none of it', async () => {
    const cwd = createProject();
    const asked: string[] = [];
    const port = await serveSocket((text, socket) => {
      asked.push(text);
      socket.write(text.includes('right-one') ? '+OK\r\n+PONG\r\n' : '-WRONGPASS invalid username-password pair\r\n');
    });
    const ask = (password: string) =>
      examine(cwd, { env: { PROCTOR_QUEUE_URL: `redis://:${password}@127.0.0.1:${port}/2` } });
    const right = await ask('right-one');
    expect([right.code, right.by('queue')]).toMatchObject([
      0,
      { status: 'ok', message: expect.stringContaining(`redis://127.0.0.1:${port}/2`) },
    ]);
    const wrong = await ask('wrong-one');
    expect([wrong.code, wrong.by('queue')]).toMatchObject([
      1,
      { status: 'fail', message: expect.stringMatching(/WRONGPASS.*Check PROCTOR_QUEUE_URL/) },
    ]);
    expect(right.stdout + wrong.stdout).not.toMatch(/right-one|wrong-one/);
    expect(asked.join('')).toContain('AUTH');
  });

  it('warns of an environment that lacks a program of the system, and fails for it by name', async () => {
    const cwd = createProject('counter');
    const code = "import { execFileSync } from 'node:child_process';\nexecFileSync('bwrap', ['--version']);\n";
    writeEnvironment(cwd, 'boxed', code);
    const env = { PATH: join(cwd, 'no-programs') };
    const all = await examine(cwd, { env });
    expect([all.code, all.healthy]).toEqual([0, true]);
    expect(all.by('environment boxed')).toMatchObject({
      status: 'warn',
      message: expect.stringMatching(/^it needs bub/),
    });
    expect(all.by('environment counter')).toMatchObject({ status: 'ok' });
    const named = await examine(cwd, { env, args: ['boxed'] });
    expect([named.code, named.healthy]).toEqual([1, false]);
    expect(named.by('environment boxed')).toMatchObject({ status: 'fail' });
    expect(named.by('environment counter')).toBeUndefined();
    const unknown = await proctor(['doctor', 'boxd'], { cwd });
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining('Environments: boxed, counter.')]);
  });
});
