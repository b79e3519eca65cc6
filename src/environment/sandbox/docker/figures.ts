import { readFile, statfs } from 'node:fs/promises';
import { z } from 'zod';
import { bytesText } from '../../../support/text/figures.ts';
import { EngineError, type EngineFigures, type LimitName } from '../engine.ts';
import type { DockerApi } from './api.ts';

/** Free bytes below which nothing is pulled, built or started. */
export const DISK_FLOOR_BYTES = 2 * 1024 ** 3;
/** State of a socket that listens, in the tables of the kernel. */
const LISTENING = '0A';
const MAX_PORTS = 20;

const infoSchema = z.object({
  MemTotal: z.number(),
  NCPU: z.number(),
  MemoryLimit: z.boolean().optional(),
  CpuCfsQuota: z.boolean().optional(),
  PidsLimit: z.boolean().optional(),
  OSType: z.string().optional(),
  Driver: z.string().optional(),
  DriverStatus: z.array(z.array(z.string())).nullish(),
  DockerRootDir: z.string().optional(),
  SecurityOptions: z.array(z.string()).nullish(),
  CgroupVersion: z.string().optional(),
});
export type EngineInfo = z.infer<typeof infoSchema>;

export async function readInfo(api: DockerApi, signal: AbortSignal): Promise<EngineInfo> {
  return await api.json({ method: 'GET', path: '/info' }, infoSchema, signal);
}

/** Tells what the engine has, and what it cannot enforce. */
export async function toFigures(api: DockerApi, info: EngineInfo, signal: AbortSignal): Promise<EngineFigures> {
  const { kind, version } = await api.version(signal);
  if (info.OSType !== undefined && info.OSType !== 'linux') {
    const message = `The container engine runs containers of ${info.OSType}`;
    throw new EngineError('refused', `${message}, and sandboxes are Linux: switch it to Linux containers`);
  }
  return {
    kind,
    version,
    memoryBytes: info.MemTotal,
    cpus: info.NCPU,
    notEnforced: notEnforced(kind, info),
    warnings: await warnings(),
  };
}

/** True if containers can have a limit of disk. Others ignore it or refuse to start. */
export function canLimitDisk({ Driver }: EngineInfo): boolean {
  return ['btrfs', 'zfs', 'devicemapper'].includes(Driver ?? '');
}

function notEnforced(kind: string, info: EngineInfo): Partial<Record<LimitName, string>> {
  const isRootless = info.SecurityOptions?.some((option) => /rootless/.test(option)) === true;
  const reason = (name: string) =>
    isRootless && info.CgroupVersion !== '2'
      ? `rootless ${kind} cannot limit ${name} with version 1 of control groups`
      : `the kernel or ${kind} has no control group for ${name}`;
  const isWithout = (flag: boolean | undefined) => flag === false || (isRootless && info.CgroupVersion !== '2');
  const found: Partial<Record<LimitName, string>> = {};
  if (isWithout(info.MemoryLimit)) found.memory = reason('memory');
  if (isWithout(info.CpuCfsQuota)) found.cpus = reason('processors');
  if (isWithout(info.PidsLimit)) found.processes = reason('processes');
  if (!canLimitDisk(info)) {
    found.disk = `the storage driver ${info.Driver ?? 'of the engine'} cannot limit the disk of a container`;
  }
  return found;
}

/** @throws EngineError if the disk of an engine of this machine is nearly full. */
export async function checkDisk(info: EngineInfo, floorBytes: number): Promise<void> {
  if (info.DockerRootDir === undefined) return;
  // The folder of an engine elsewhere is not on this machine, and its owner watches it.
  const found = await statfs(info.DockerRootDir).catch(() => undefined);
  if (found === undefined) return;
  const free = found.bavail * found.bsize;
  if (free >= floorBytes) return;
  const message = `The disk of the container engine (${info.DockerRootDir}) has ${bytesText(free)} free`;
  const wayOut = 'free some, for example with "docker system prune", or lower PROCTOR_SANDBOX_DISK_FLOOR';
  throw new EngineError('disk', `${message}, and ${bytesText(floorBytes)} have to stay: ${wayOut}`);
}

/** Services of this machine that listen on all addresses, which sandboxes with a network reach at its gateway. */
async function warnings(): Promise<string[]> {
  const ports = new Set<number>();
  for (const file of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n').slice(1);
    for (const line of lines) {
      const [, local = '', , state] = line.trim().split(/\s+/);
      const [address, port = '0'] = local.split(':');
      if (state === LISTENING && /^0+$/.test(address ?? '')) ports.add(Number.parseInt(port, 16));
    }
  }
  if (ports.size === 0) return [];
  const sorted = [...ports].sort((a, b) => a - b);
  const shown = sorted.slice(0, MAX_PORTS).join(', ') + (sorted.length > MAX_PORTS ? ' and more' : '');
  return [`Sandboxes with a network reach services of this machine that listen on all addresses: ports ${shown}`];
}
