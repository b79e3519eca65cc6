import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import type { McpServer } from '@modelcontextprotocol/server';
import { type ConnectionOptions, type ConnectionTarget, EnvironmentServer } from 'proctor';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { freePort } from '../../free-port.ts';
import { until } from '../../until.ts';
import { EVERYTHING } from '../composition/servers.ts';
import { connectInMemory, type MemoryOptions, textOf } from './clients.ts';

/** An environment with a tool of its own, connected to one server. */
export function environment(target: ConnectionTarget, options: ConnectionOptions = {}): () => EnvironmentServer {
  return () => {
    const env = new EnvironmentServer({ name: 'composed' });
    env.tool('own', {}, () => 'mine');
    env.connect('other', target, options);
    return env;
  };
}

export function open(
  target: ConnectionTarget,
  options: ConnectionOptions = {},
  memory: MemoryOptions = {},
): Promise<Client> {
  return connectInMemory(environment(target, options), memory);
}

export const toolNames = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

export async function call(client: Client, name: string, args: Record<string, unknown> = {}, meta = {}) {
  return client.callTool({ name, arguments: args, ...meta });
}

export interface Received {
  readonly meta: Record<string, unknown> | null;
  readonly variables: readonly string[];
  readonly pid: number;
}

export async function received(client: Client, meta = {}, name = 'received'): Promise<Received> {
  return JSON.parse(textOf(await call(client, name, {}, meta)));
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'connections-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

export function addTo(server: McpServer): McpServer {
  server.registerTool('double', { inputSchema: z.object({ of: z.number() }) }, ({ of }) => ({
    content: [{ type: 'text', text: String(of * 2) }],
  }));
  return server;
}

const servers = new Map<number, ReturnType<typeof spawn>>();

/** Starts the third-party server over HTTP, as its own documentation has it. */
export async function startEverything(transport: 'streamableHttp' | 'sse', port?: number): Promise<number> {
  const at = port ?? (await freePort());
  const child = spawn(process.execPath, [EVERYTHING, transport], {
    env: { ...process.env, PORT: String(at) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  servers.set(at, child);
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await until(() => said.includes(String(at)));
  return at;
}

export async function stopEverything(port: number): Promise<void> {
  const child = servers.get(port);
  if (child === undefined) return;
  const gone = once(child, 'close');
  child.kill('SIGKILL');
  await gone;
}
