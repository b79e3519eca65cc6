import type { Client } from '@modelcontextprotocol/client';
import { onTestFinished } from 'vitest';
import { develop } from '../../../src/environment/dev/develop.ts';
import { until } from '../../until.ts';
import { type ConnectOptions, connect, httpTransport } from '../server/clients.ts';
import type { Project } from './project.ts';

export const KEY = 'the-harness-key';

export interface DevServer {
  readonly url: string;
  /** What the developer was told so far. */
  readonly said: readonly string[];
  says(text: string, times?: number): Promise<void>;
  /** As Ctrl-C does. */
  stop(): Promise<void>;
}

export interface DevServerOptions {
  readonly callGraceMs?: number;
  readonly patienceMs?: number;
}

/** What `proctor dev` runs over http, in this process; what serves is a process of its own. Stopped when the test ends. */
export async function startDev({ path }: Project, options: DevServerOptions = {}): Promise<DevServer> {
  const said: string[] = [];
  const stopping = new AbortController();
  const variables = Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
  const ended = develop({
    path,
    transport: 'http',
    port: 0,
    harnessKey: KEY,
    variables,
    say: (line) => void said.push(line),
    signal: stopping.signal,
    ...options,
  });
  const stop = async () => {
    stopping.abort();
    await ended;
  };
  onTestFinished(stop);
  const says = async (text: string, times = 1) => {
    await until(() => said.filter((line) => line.includes(text)).length >= times);
  };
  await Promise.race([says('Serving'), ended]);
  const url = /http:\S+\/mcp/.exec(said.join('\n'))?.[0] ?? '';
  return { url, said, says, stop };
}

export interface Connected {
  readonly client: Client;
  /** Names of the lists that the client was told have changed, in order. */
  readonly changed: string[];
}

export async function connectTo(server: DevServer, options: ConnectOptions = {}): Promise<Connected> {
  const client = await connect(httpTransport(server.url), options);
  const changed: string[] = [];
  for (const list of ['tools', 'prompts', 'resources'] as const) {
    client.setNotificationHandler(`notifications/${list}/list_changed`, () => void changed.push(list));
  }
  return { client, changed };
}
