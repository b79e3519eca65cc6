import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { proctor, start } from '../cli/command.ts';
import { freePort } from '../free-port.ts';
import { send } from '../support/http/http-server.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const ROOT_CONFIG = "export default { environments: { counter: './environment.ts' } };\n";
const RUNS_OF_EACH_PART = 2;

const startedSchema = z.object({ url: z.string(), key_file: z.string() });
const tracesSchema = z.object({ data: z.array(z.object({ trace_id: z.string(), status: z.string() })) });

interface Place {
  /** Of the store, relative to the project. */
  readonly store: string;
  /** Folder of the module, relative to the project. */
  readonly module?: string;
  prepare?(cwd: string): void;
}

/** Places where a user may put the store. */
const PLACES: Readonly<Record<string, Place>> = {
  'in its default folder': { store: '.proctor/proctor.db' },
  'beside the module': { store: 'environments/counter/proctor.db' },
  'below the module': { store: 'environments/counter/data/deep/proctor.sqlite' },
  'beside the module, under a name that says nothing': { store: 'environments/counter/state' },
  'beside the module, at the end of a link': {
    store: '.store/link',
    prepare(cwd) {
      mkdirSync(join(cwd, '.store'));
      symlinkSync('../environments/counter/state', join(cwd, '.store/link'));
    },
  },
  'in the linked folder of an environment': {
    store: 'environments/counter/state',
    module: 'elsewhere',
    prepare(cwd) {
      mkdirSync(join(cwd, 'environments'));
      symlinkSync('../elsewhere', join(cwd, 'environments/counter'));
    },
  },
  "in the project's folder, which is the environment's too": {
    store: 'proctor.db',
    module: '.',
    prepare: (cwd) => writeFileSync(join(cwd, 'proctor.config.mjs'), ROOT_CONFIG),
  },
};

it.each(Object.entries(PLACES))(
  'kill -9 loses no completed run when the store is %s and other commands come and go',
  { timeout: 150_000 },
  async (_, place) => {
    const cwd = createPlace(place);
    const env = { PROCTOR_DATABASE_URL: `sqlite:${place.store}` };
    const ports = ['--port', String(await freePort()), '--scenario-port', String(await freePort())];
    const service = start(['serve', ...ports, '--json'], { cwd, env });
    const [line] = await service.prints(/^\{.*\}$/m);
    const { url, key_file } = startedSchema.parse(JSON.parse(line));
    const key = readFileSync(join(cwd, key_file), 'utf8').trim();

    const ids: unknown[] = [];
    for (let part = 0; part < 2; part += 1) {
      for (let run = 0; run < RUNS_OF_EACH_PART; run += 1) ids.push(await play(url, key));
      const keys = await proctor(['keys', 'list'], { cwd, env });
      expect([keys.code, keys.stderr]).toEqual([0, '']);
    }
    service.process.kill('SIGKILL');
    await once(service.process, 'exit');

    const { code, stdout } = await proctor(['traces', 'list', '--json'], { cwd, env });
    expect(code).toBe(0);
    const kept = tracesSchema.parse(JSON.parse(stdout)).data;
    expect(kept.map(({ trace_id, status }) => [trace_id, status]).sort()).toEqual(
      ids.map((id) => [id, 'completed']).sort(),
    );
  },
);

function createPlace({ module = 'environments/counter', prepare }: Place): string {
  const cwd = mkdtempSync(join(tmpdir(), 'proctor-store-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true, maxRetries: 5 }));
  mkdirSync(join(cwd, module), { recursive: true });
  cpSync(join(REPOSITORY, 'environments/counter/environment.ts'), join(cwd, module, 'environment.ts'));
  writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
  mkdirSync(join(cwd, 'node_modules'));
  symlinkSync(REPOSITORY, join(cwd, 'node_modules/proctor'));
  symlinkSync(join(REPOSITORY, 'node_modules/zod'), join(cwd, 'node_modules/zod'));
  prepare?.(cwd);
  expect(existsSync(join(cwd, 'environments/counter')) || module === '.').toBe(true);
  return cwd;
}

/** One run to its end. @returns its trace id. */
async function play(url: string, key: string): Promise<unknown> {
  const run = { env_name: 'counter', scenario_name: 'count_to', scenario_args: { target: 2 }, model: 'proctor/oracle' };
  const reply = await send(url, '/v1/agent/run', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', prefer: 'wait=60' },
    body: JSON.stringify(run),
  });
  expect([reply.status, reply.json]).toMatchObject([200, { status: 'completed', reward: 1 }]);
  return z.object({ trace_id: z.string() }).parse(reply.json).trace_id;
}
