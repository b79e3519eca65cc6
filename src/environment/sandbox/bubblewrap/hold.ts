import type { ChildProcess } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { messageOf } from '../../../contract/errors.ts';
import { EngineError, type SandboxSpec } from '../engine.ts';
import type { Owner } from '../files/open-folder.ts';
import { spawnOnHost } from '../local/local-process.ts';
import type { SessionFolder } from '../local/session-folder.ts';
import { asOwner, type Held, INSIDE_ID, INSIDE_USER, pathOf } from './enter.ts';
import { INSIDE_HOME, toMounts } from './mounts.ts';

const START_MS = 20_000;
const INFO_FD = 3;
const READY = 'ready';

export interface Holding extends Held {
  readonly holder: ChildProcess;
}

/**
 * Makes the namespaces of a sandbox and a process that holds them. There are two user namespaces: the outer one owns all
 * other namespaces, and the inner one, where programs run, owns nothing. No third can be made.
 *
 * @throws EngineError with the words of bubblewrap; the reason of the signal.
 */
export async function hold(
  spec: SandboxSpec,
  folder: SessionFolder,
  owner: Owner | undefined,
  signal: AbortSignal,
): Promise<Holding> {
  await writeEtc(folder, spec.name);
  const hasNetwork = spec.network.kind !== 'open';
  const command = toCommand(spec, folder, hasNetwork);
  const holder = spawnOnHost({ command, env: {}, cwd: '/', user: owner }, ['ignore', 'pipe', 'pipe', 'pipe']);
  const limit = AbortSignal.any([signal, AbortSignal.timeout(START_MS)]);
  try {
    const inner = await untilReady(holder, limit);
    const held = { outer: holder.pid ?? 0, inner, hasNetwork };
    await closeNamespaces(held, owner, limit);
    return { ...held, holder };
  } catch (error) {
    holder.kill('SIGKILL');
    signal.throwIfAborted();
    throw new EngineError('create', `bubblewrap made no sandbox: ${messageOf(error)}`, { cause: error });
  }
}

function toCommand(spec: SandboxSpec, folder: SessionFolder, hasNetwork: boolean): readonly string[] {
  const sleep = `exec ${pathOf('env')} --ignore-signal=CHLD ${pathOf('sleep')} ${spec.lifeMs / 1_000}`;
  const hidden = [homedir(), process.cwd(), ...(spec.hidden ?? [])];
  return [
    ...[pathOf('unshare'), '--user', '--map-root-user', '--', pathOf('bwrap')],
    ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...(hasNetwork ? ['--unshare-net'] : []),
    // The one right lets the first process map its user, and is lost with that.
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--cap-add', 'CAP_SETFCAP'],
    ...['--as-pid-1', '--hostname', spec.name, '--clearenv', '--info-fd', String(INFO_FD)],
    ...toMounts(spec, folder, hidden),
    ...['--', pathOf('unshare'), '--user', `--map-user=${INSIDE_ID}`, `--map-group=${INSIDE_ID}`, '--'],
    ...[pathOf('setpriv'), '--no-new-privs', '--pdeathsig', 'KILL', '--'],
    // Ignored, the ends of children that lost their parents leave no zombies.
    ...['/bin/sh', '-c', `echo ${READY}; ${sleep} > /dev/null 2>&1`],
  ];
}

/** Files that programs look themselves up in. */
async function writeEtc(folder: SessionFolder, name: string): Promise<void> {
  const files = {
    passwd: `${INSIDE_USER}:x:${INSIDE_ID}:${INSIDE_ID}::${INSIDE_HOME}:/bin/sh\n`,
    group: `${INSIDE_USER}:x:${INSIDE_ID}:\n`,
    hosts: `127.0.0.1 localhost ${name}\n::1 localhost\n`,
  };
  for (const [file, text] of Object.entries(files))
    await writeFile(join(folder.part('etc'), file), text, { mode: 0o644 });
}

/** Id of the first process inside, seen from outside, when it has taken its place. */
async function untilReady(holder: ChildProcess, limit: AbortSignal): Promise<number> {
  const [info, out, said] = [holder.stdio[INFO_FD], holder.stdout, holder.stderr].map(toText);
  await new Promise<void>((resolve, reject) => {
    limit.addEventListener('abort', () => reject(limit.reason), { once: true });
    holder.once('error', reject);
    holder.once('exit', () => setImmediate(() => reject(new Error(said?.().trim() || 'it ended at once'))));
    // The two come on different pipes, in any order.
    const look = () => out?.().includes(READY) && info?.().includes('}') && resolve();
    holder.stdout?.on('data', look);
    holder.stdio[INFO_FD]?.on('data', look);
  });
  const pid = Number(/"child-pid":\s*(\d+)/.exec(info?.() ?? '')?.[1]);
  if (!(pid > 0)) throw new Error(`it told no process: ${JSON.stringify(info?.())}`);
  return pid;
}

function toText(stream: unknown): () => string {
  let text = '';
  (stream as Readable | null)?.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString('utf8')).slice(0, 4_096);
  });
  return () => text;
}

/** Allows no further user namespace, and makes /proc read-only. */
async function closeNamespaces(held: Held, owner: Owner | undefined, limit: AbortSignal): Promise<void> {
  const steps = `echo 1 > /proc/sys/user/max_user_namespaces && exec ${pathOf('mount')} -n -o remount,bind,ro /proc`;
  const command = [...asOwner(held), '/bin/sh', '-c', steps];
  const child = spawnOnHost({ command, env: {}, cwd: '/', user: owner }, ['ignore', 'ignore', 'pipe']);
  const said = toText(child.stderr);
  const onAbort = () => void child.kill('SIGKILL');
  limit.addEventListener('abort', onAbort, { once: true });
  const code = await new Promise((resolve) => {
    child.once('error', resolve);
    child.once('close', resolve);
  });
  limit.removeEventListener('abort', onAbort);
  if (code !== 0) throw new Error(`further namespaces cannot be forbidden (${said().trim() || String(code)})`);
}
