import { chown } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { PROCESS_VARIABLES } from '../../../contract/names.ts';
import { findMarked, listPids } from '../../process/process-table.ts';
import { createRunMark, killMarked } from '../../process/run-mark.ts';
import type { Engine, ProcessRequest, SandboxSpec } from '../engine.ts';
import type { InsideRoot } from '../local/inside-paths.ts';
import { LocalEngine } from '../local/local-engine.ts';
import { spawnOnHost } from '../local/local-process.ts';
import type { SessionFolder } from '../local/session-folder.ts';
import { signalProcess } from '../local/signals.ts';
import { measureProcesses } from '../local/tree-use.ts';
import type { WallBuilder, Walls } from '../local/walls.ts';

const UNLIMITED = 'without a sandbox there is no such limit: a command can use what this user can use';

/** Opens the engine that has no walls: commands run as the user of this process. It is chosen by its name alone. */
export function openNone(): Engine {
  return new LocalEngine(builder);
}

const builder: WallBuilder = {
  name: 'none',
  owner: undefined,
  warnings: [
    'There is no sandbox: commands run as the user of this process, with its files, its processes and its network.',
    'Paths in commands are those of this machine. The working directory is a temporary folder.',
  ],
  notEnforced: { cpus: UNLIMITED, processes: UNLIMITED },
  problem: async () => undefined,
  version: async () => process.version,
  give: async (path) => await chown(path, process.getuid?.() ?? -1, process.getgid?.() ?? -1),

  async build(spec: SandboxSpec, folder: SessionFolder): Promise<Walls> {
    const mark = createRunMark();
    const roots = [
      { inside: spec.workdir, host: folder.part('work') },
      { inside: '/tmp', host: folder.part('tmp') },
    ];
    const env = { PATH: process.env.PATH ?? '/usr/bin:/bin', [PROCESS_VARIABLES.run]: mark.value };
    const seconds = String(spec.lifeMs / 1_000);
    const holder = spawnOnHost({ command: ['sleep', seconds], env, cwd: '/', user: undefined }, []);
    holder.on('error', () => {});
    const others = () => findMarked(mark.text).filter((pid) => pid !== holder.pid);
    return {
      holder,
      roots,
      mark: mark.text,
      isShared: () => true,
      toCommand: (request) => toCommand(request, { ...env, HOME: folder.part('home') }, roots),
      measure: () => measureProcesses('/proc', others()),
      kill: (pid) => signalProcess(pid, 'SIGKILL'),
      killAll: () => {
        for (const pid of others()) signalProcess(pid, 'SIGKILL');
      },
      end: () => {
        holder.kill('SIGKILL');
        if (listPids().length > 0) killMarked(mark.text);
      },
      onNetwork: () => undefined,
      toLoss: (exitCode) =>
        exitCode === 0
          ? { by: 'engine', reason: 'reached the end of its life' }
          : { by: 'engine', reason: 'was killed from outside' },
    };
  },
};

function toCommand(request: ProcessRequest, env: Readonly<Record<string, string>>, roots: readonly InsideRoot[]) {
  if (request.user !== undefined) {
    throw new RangeError(`There is no user ${JSON.stringify(request.user)}: without a sandbox all run as one user`);
  }
  const variables = Object.entries({ ...env, ...request.env }).map(([name, value]) => `${name}=${value}`);
  const program = ['sh', '-c', 'exec "$@"', 'sh', ...request.command];
  // `env` has exit codes of a shell for programs that are unknown or cannot be run.
  return {
    command: ['env', '-i', '--', ...variables, ...program],
    env,
    cwd: toHost(request.cwd, roots),
    user: undefined,
  };
}

/** A folder of the session for the workdir; other paths are those of this machine. */
function toHost(path: string, roots: readonly InsideRoot[]): string {
  const normal = posix.normalize(path);
  const root = roots.find(({ inside }) => normal === inside || normal.startsWith(`${inside}/`));
  return root === undefined ? normal : join(root.host, normal.slice(root.inside.length));
}
