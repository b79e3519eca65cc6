import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtFile } from '../../src/support/runtime/built-file.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 21);
const PACKAGE = fileURLToPath(new URL('../../', import.meta.url));
/** From the first answer on, so that the start after it finds compiled code. */
const WARM_MS = 1_500;

const INITIALIZE = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1.0.0' } },
})}\n`;

interface Case {
  readonly name: string;
  readonly args: readonly string[];
  /** Does not serve: its end is measured. */
  readonly isOver?: boolean;
  prepare?(): Promise<void>;
}

interface Cost {
  readonly cpuMs: number;
  readonly wallMs: number;
}

/**
 * The cost of a process of an environment, from its spawn until it has answered `initialize`: time of the processor in
 * user and system mode, with all processes that it started and waited for, beside `node -e 0` and a server of the SDK.
 * The environment is `counter`, in TypeScript: file by file, with an empty cache, and with a full one. Cases alternate.
 *
 * `npm run bench -- starts`, after `npm run build`. Another version of Node.js measures itself:
 * `npx -y node@22 --import tsx bench/main.ts starts`. BENCH_ROUNDS is the number of rounds. It needs bash.
 */
export async function run(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'proctor-starts-'));
  try {
    const cases = await createCases(folder);
    for (const each of cases) await measure(each, WARM_MS);
    const costs = new Map<string, Cost[]>(cases.map(({ name }) => [name, []]));
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const each of cases) costs.get(each.name)?.push(await measure(each));
    }
    print(costs);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function createCases(folder: string): Promise<readonly Case[]> {
  const cached = await createProject(join(folder, 'cached'));
  const emptied = await createProject(join(folder, 'emptied'));
  const without = await createProject(join(folder, 'without'));
  await writeFile(join(without, '.proctor'), 'Where a file is there can be no folder, and no cache.');
  const main = builtFile('environment/server/start/environment-main.js');
  const start = (project: string) => [main, join(project, 'environments/counter/environment.ts')];
  return [
    { name: '`node -e 0`', args: ['-e', '0'], isOver: true },
    { name: 'a server of the SDK', args: [fileURLToPath(new URL('servers/sdk.mjs', import.meta.url))] },
    { name: '`counter`, file by file', args: start(without) },
    {
      name: '`counter`, empty cache',
      args: start(emptied),
      prepare: () => rm(join(emptied, '.proctor'), { recursive: true, force: true }),
    },
    { name: '`counter`, full cache', args: start(cached) },
  ];
}

async function createProject(folder: string): Promise<string> {
  await mkdir(join(folder, 'node_modules'), { recursive: true });
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await cp(join(PACKAGE, 'environments/counter'), join(folder, 'environments/counter'), { recursive: true });
  await symlink(PACKAGE, join(folder, 'node_modules/proctor'));
  await symlink(join(PACKAGE, 'node_modules/zod'), join(folder, 'node_modules/zod'));
  return folder;
}

/** The shell knows to the millisecond what its child has cost when that is over, however it ended. */
const SHELL = `TIMEFORMAT='cost %U %S'; time { "$@" <&0 & echo "pid $!" >&2; wait $!; }`;

/** @param lastsMs how long it may go on after its answer. */
async function measure({ name, args, isOver = false, prepare }: Case, lastsMs = 0): Promise<Cost> {
  await prepare?.();
  const startedAt = performance.now();
  const shell = spawn('bash', ['-c', SHELL, 'bash', process.execPath, ...args]);
  let said = '';
  shell.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  let wallMs = 0;
  const closed = once(shell, 'close');
  if (!isOver) {
    shell.stdin.write(INITIALIZE);
    await Promise.race([once(shell.stdout, 'data'), closed]);
    wallMs = performance.now() - startedAt;
    await new Promise((resolve) => setTimeout(resolve, lastsMs));
    const pid = Number(/^pid (\d+)$/m.exec(said)?.[1]);
    if (shell.exitCode === null && pid > 0) process.kill(pid, 'SIGKILL');
  }
  await closed;
  const [, user, system] = /^cost ([\d.]+) ([\d.]+)$/m.exec(said) ?? [];
  if (user === undefined) throw new Error(`${name} was not measured: ${said}`);
  return { cpuMs: (Number(user) + Number(system)) * 1_000, wallMs: wallMs || performance.now() - startedAt };
}

function print(costs: ReadonlyMap<string, readonly Cost[]>): void {
  const floor = median([...costs.values()][0]?.map(({ cpuMs }) => cpuMs) ?? []);
  console.log(`| Node.js ${process.versions.node}, medians of ${ROUNDS} | processor ms | to \`node -e 0\` | wall ms |`);
  console.log('|---|--:|--:|--:|');
  for (const [name, measured] of costs) {
    const cpuMs = median(measured.map((cost) => cost.cpuMs));
    const wallMs = median(measured.map((cost) => cost.wallMs));
    console.log(`| ${name} | ${cpuMs.toFixed(0)} | ${(cpuMs / floor).toFixed(1)} | ${wallMs.toFixed(0)} |`);
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}
