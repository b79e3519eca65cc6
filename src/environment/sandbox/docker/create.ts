import { z } from 'zod';
import { EngineError, type SandboxSpec } from '../engine.ts';
import { type DockerApi, WORK_LIMIT_MS } from './api.ts';
import { toLabels, USER_LABEL } from './labels.ts';
import { isStatus } from './refusal.ts';

/** Descriptors of a process. Both limits are named, because Podman drops its defaults when one is given. */
const OPEN_FILES = 4_096;
const DEFAULT_PROCESSES = 4_096;
/** Holds the sandbox, and ends it when nobody else does. Without a program \`sleep\` it waits for input that never comes. */
const HOLD = 'command -v sleep >/dev/null && exec sleep "$0"; while read -r line; do :; done';

export interface NewContainer {
  readonly image: string;
  readonly network: string;
  readonly canLimitDisk: boolean;
}

/** Makes a container that is not started yet. */
export async function createContainer(
  api: DockerApi,
  spec: SandboxSpec,
  { image, network, canLimitDisk }: NewContainer,
  signal: AbortSignal,
): Promise<string> {
  const { memoryBytes, cpus, processes, diskBytes } = spec.limits;
  const seconds = Math.max(1, Math.ceil(spec.lifeMs / 1_000));
  const most = processes ?? DEFAULT_PROCESSES;
  const body = {
    Image: image,
    Hostname: spec.name,
    Entrypoint: ['/bin/sh', '-c', HOLD, String(seconds)],
    Cmd: [],
    Env: Object.entries(spec.env).map(([name, value]) => `${name}=${value}`),
    // The holder belongs to root, so that the agent cannot end it.
    User: '0',
    OpenStdin: true,
    WorkingDir: '/',
    Labels: { ...toLabels(spec.labels), [USER_LABEL]: spec.user ?? '' },
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      Init: true,
      NetworkMode: network,
      ...(memoryBytes === undefined ? {} : { Memory: memoryBytes, MemorySwap: memoryBytes }),
      ...(cpus === undefined ? {} : { NanoCpus: Math.round(cpus * 1e9) }),
      ...(processes === undefined ? {} : { PidsLimit: processes }),
      ...(diskBytes === undefined || !canLimitDisk ? {} : { StorageOpt: { size: String(diskBytes) } }),
      Ulimits: [
        { Name: 'nofile', Soft: OPEN_FILES, Hard: OPEN_FILES },
        { Name: 'nproc', Soft: Math.max(most, DEFAULT_PROCESSES), Hard: Math.max(most, DEFAULT_PROCESSES) },
      ],
      ...capabilities(spec.capabilities),
      Binds: spec.mounts.map(({ source, target, readOnly }) => `${source}:${target}${readOnly ? ':ro' : ''}`),
      LogConfig: { Type: 'none', Config: {} },
    },
  };
  const call = { method: 'POST', path: '/containers/create', body, limitMs: WORK_LIMIT_MS, fault: 'create' } as const;
  try {
    return (await api.json(call, z.object({ Id: z.string() }), signal)).Id;
  } catch (error) {
    if (isStatus(error, 404)) {
      const message = `The image ${image} is gone from the container engine: it was removed after it had been prepared`;
      throw new EngineError('image', message, { cause: error });
    }
    throw error;
  }
}

function capabilities(kind: SandboxSpec['capabilities']) {
  if (kind === 'engine') return {};
  return { CapDrop: [kind === 'drop-all' ? 'ALL' : 'NET_RAW'], SecurityOpt: ['no-new-privileges'] };
}
