import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it } from 'vitest';
import { connect } from '../environment/server/clients.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface ServerEntry {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly url?: string;
}

/** Each file with the key under which its host wants servers. */
const FILES = [
  ['vscode', 'servers'],
  ['claude-code', 'mcpServers'],
  ['cursor', 'mcpServers'],
] as const;

describe('the configuration for', () => {
  it.each(FILES)('%s starts an environment, and is what the guide shows', async (host, key) => {
    const text = readFileSync(`${root}docs/examples/${host}.mcp.json`, 'utf8');
    const servers = JSON.parse(text)[key] as Record<string, ServerEntry>;
    const [program, ...args] = servers.counter?.args ?? [];
    expect([servers.counter?.command, program]).toEqual(['npx', 'proctor']);
    // The package itself has no `npx proctor`: its command by its path.
    const command = { command: process.execPath, args: [`${root}dist/cli/main.js`, ...args], cwd: root };
    const client = await connect(new StdioClientTransport({ ...command, stderr: 'ignore' }));
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('increment');
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toContain('count_to');
    expect(servers['counter-in-development']?.url).toBe('http://127.0.0.1:8765/mcp');
    const guide = readFileSync(`${root}docs/ide.md`, 'utf8');
    const shown = [...guide.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json]) => JSON.parse(String(json)));
    expect(shown).toContainEqual(JSON.parse(text));
  });
});
