import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { connectEnvironment } from '../../../src/environment/client/connect.ts';
import type { EnvironmentTarget } from '../../../src/environment/client/environment-client.ts';

const PATH = fileURLToPath(new URL('./fixtures/clinging/environment.ts', import.meta.url));
const TARGET: EnvironmentTarget & { readonly kind: 'module' } = { kind: 'module', path: PATH };

const SECRETS = {
  PROCTOR_API_KEY: 'planted-1',
  PROCTOR_GATEWAY_API_KEY: 'planted-2',
  PROCTOR_DATABASE_URL: 'postgres://u:planted-3@db.example/p',
  PROCTOR_QUEUE_URL: 'redis://:planted-4@db.example',
  OPENAI_API_KEY: 'planted-5',
  ANTHROPIC_AUTH_TOKEN: 'planted-6',
  AWS_SECRET_ACCESS_KEY: 'planted-7',
  AWS_SESSION_TOKEN: 'planted-8',
  DATABASE_URL: 'postgres://u:planted-9@db.example/p',
  PGPASSWORD: 'planted-10',
  DB_PASS: 'planted-11',
  GOOGLE_APPLICATION_CREDENTIALS: '/home/u/planted-12.json',
  GIT_REMOTE: 'https://robot:planted-13@git.example/team.git',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=planted-14',
  // As the guides write it: nothing in the name tells that it is a secret.
  CLAUDE_KEY: 'planted-15',
  TUNING: 'planted-16',
  // Settings of runtimes begin like these.
  NVIDIA_API_KEY: 'planted-17',
  CUDA_REGISTRY_TOKEN: 'planted-18',
  XDG_SECRET: 'planted-19',
} as const;

describe.skipIf(process.platform !== 'linux')('a program that a tool starts', { timeout: 60_000 }, () => {
  it('finds neither the secrets of the service nor the harness key: not in variables, descriptors or its parent', async () => {
    for (const [name, value] of Object.entries(SECRETS)) vi.stubEnv(name, value);
    vi.stubEnv('LC_TIME', 'passed-on');
    vi.stubEnv('NVIDIA_VISIBLE_DEVICES', 'passed-on');
    vi.stubEnv('HTTPS_PROXY', 'http://user:needed@proxy.example');
    const client = await connectEnvironment(TARGET);
    onTestFinished(() => client.close());
    const { structured_content } = await client.call('look_around', {});
    const seen = String(structured_content?.seen);
    expect(seen).toContain('LC_TIME=passed-on');
    expect(seen).toContain('NVIDIA_VISIBLE_DEVICES=passed-on');
    expect(seen).toContain('HTTPS_PROXY=http://user:needed@proxy.example');
    expect(seen.match(/planted-\d+/g)).toBe(null);
    const names = new Set(seen.match(/\bPROCTOR_\w+/g));
    // Numbers of descriptors, in what the parent was started with, and a mark that opens nothing.
    expect([...names].sort()).toEqual(['PROCTOR_HARNESS_KEY_FD', 'PROCTOR_PROTOCOL_FD', 'PROCTOR_RUN']);
    // Ours are the lowest ones; what this process itself was started with may be higher up.
    expect([...seen.matchAll(/^descriptor (\d)$/gm)].map(([, fd]) => fd)).toEqual(['0', '1', '2']);
    // 32 random bytes in base64url: nothing looks like it.
    expect(seen.match(/(?<![\w/-])[\w-]{43}(?![\w/-])/g)).toBe(null);
  });
});
