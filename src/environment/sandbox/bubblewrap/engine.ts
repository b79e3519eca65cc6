import { execFile } from 'node:child_process';
import { chown } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../../../contract/errors.ts';
import type { Engine, SandboxLoss, SandboxSpec } from '../engine.ts';
import { LocalEngine } from '../local/local-engine.ts';
import { spawnOnHost } from '../local/local-process.ts';
import { SessionFolder } from '../local/session-folder.ts';
import { measureProcesses } from '../local/tree-use.ts';
import { unprivilegedUser } from '../local/users.ts';
import type { WallBuilder, Walls } from '../local/walls.ts';
import { asOwner, checkUser, countsPerSandbox, pathOf, toEntering } from './enter.ts';
import { hold } from './hold.ts';
import { checkWorkdir, INSIDE_HOME, INSIDE_NODE, isProgramPath } from './mounts.ts';

const VERSION_MS = 10_000;
const VARIABLES = {
  PATH: `${dirname(INSIDE_NODE)}:/usr/local/bin:/usr/bin:/bin`,
  HOME: INSIDE_HOME,
  LANG: 'C.UTF-8',
} as const;

/** Opens the engine that makes sandboxes with bubblewrap, of the programs of this machine. Linux only. */
export function openBubblewrap(): Engine {
  return new LocalEngine(new BubblewrapBuilder());
}

class BubblewrapBuilder implements WallBuilder {
  readonly name = 'bubblewrap';
  readonly owner = unprivilegedUser();
  readonly warnings = [
    'A sandbox with an open network shares the network of this machine, and reaches all services that listen on it.',
    'Memory is measured five times a second and disk every two seconds, so that a program can exceed its limit for a moment.',
  ];
  readonly notEnforced: Readonly<Record<string, string>> = {
    cpus: 'bubblewrap cannot limit processors: programs of a sandbox share those of the machine',
    ...(countsPerSandbox() ? {} : { processes: 'Linux before 5.14 counts processes of a user on the whole machine' }),
  };

  async problem(signal: AbortSignal): Promise<string | undefined> {
    if (process.platform !== 'linux') return `bubblewrap works on Linux alone, and this is ${process.platform}`;
    const folder = await SessionFolder.create('bubblewrap', this.owner, undefined);
    try {
      const { holder } = await hold(TRIAL, folder, this.owner, signal);
      const ended = new Promise((resolve) => holder.once('exit', resolve));
      holder.kill('SIGKILL');
      await ended;
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      const wayOut = 'Install bubblewrap 0.8 or newer, util-linux and coreutils 8.31 where user namespaces are allowed';
      return `${messageOf(error)}. ${wayOut}, or give the sandbox an image and start Docker`;
    } finally {
      await folder.remove();
    }
  }

  async version(signal: AbortSignal): Promise<string> {
    const { stdout } = await promisify(execFile)(pathOf('bwrap'), ['--version'], { timeout: VERSION_MS, signal });
    return stdout.trim().split(' ').at(-1) ?? '';
  }

  async give(path: string): Promise<void> {
    if (this.owner !== undefined) await chown(path, this.owner.uid, this.owner.gid);
  }

  async build(spec: SandboxSpec, folder: SessionFolder, signal: AbortSignal): Promise<Walls> {
    checkWorkdir(spec.workdir);
    checkUser(spec.user);
    const { owner } = this;
    const held = await hold(spec, folder, owner, signal);
    const { holder, inner } = held;
    const control = (script: string) => {
      const command = [...asOwner(held), '/bin/sh', '-c', script];
      spawnOnHost({ command, env: {}, cwd: '/', user: owner }, ['ignore', 'ignore', 'ignore']).on('error', () => {});
    };
    return {
      holder,
      mark: undefined,
      roots: [
        { inside: spec.workdir, host: folder.part('work') },
        { inside: '/tmp', host: folder.part('tmp') },
        { inside: INSIDE_HOME, host: folder.part('home') },
      ],
      isShared: isProgramPath,
      toCommand(request) {
        checkUser(request.user);
        const entering = toEntering(held, { ...request, env: { ...VARIABLES, ...request.env } }, spec.limits);
        return { command: entering, env: {}, cwd: '/', user: owner, waits: true };
      },
      measure: () => measureProcesses(`/proc/${inner}/root/proc`),
      kill: (pid) => control(`kill -KILL ${pid}`),
      // The holder's namespace takes its processes along when it ends.
      killAll: () => holder.exitCode === null && holder.signalCode === null && control('kill -KILL -1'),
      end: () => void holder.kill('SIGKILL'),
      onNetwork: (command) =>
        held.hasNetwork
          ? { command: [...asOwner(held, ['net']), ...toHelper(command)], env: {}, cwd: '/', user: owner }
          : undefined,
      toLoss,
    };
  }
}

/** A helper ends with this process. */
function toHelper(command: readonly string[]): readonly string[] {
  return [pathOf('setpriv'), '--no-new-privs', '--pdeathsig', 'KILL', '--', ...command];
}

function toLoss(exitCode: number | null, signal: NodeJS.Signals | null): SandboxLoss {
  if (exitCode === 0) return { by: 'engine', reason: 'reached the end of its life' };
  if (signal !== null || exitCode === 128 + 9) return { by: 'engine', reason: 'was killed from outside' };
  // Programs inside cannot signal the first process; a debugger can end it.
  return { by: 'agent', reason: `was ended by its own command (exit code ${exitCode})` };
}

const TRIAL: SandboxSpec = {
  image: undefined,
  name: 'trial',
  workdir: '/workspace',
  user: undefined,
  env: {},
  mounts: [],
  limits: { memoryBytes: undefined, cpus: undefined, processes: undefined, diskBytes: undefined },
  network: { kind: 'none' },
  capabilities: 'default',
  labels: { owner: '', holder: '', run: undefined, session: '', environment: '' },
  lifeMs: 30_000,
};
