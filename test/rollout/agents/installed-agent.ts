import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const VERSION = '1.2.3';

/** An agent without packages of others: it sits at its seat, and answers, if it finds the package for its platform. */
const PROGRAM = `#!/usr/bin/env node
const { createRequire } = require('node:module');
let platform;
try {
  platform = createRequire(__filename)('@made-up/agent-linux');
} catch {
  console.error('Missing optional dependency @made-up/agent-linux beside ' + __dirname);
  process.exit(1);
}
platform.play(process.argv[2]);
`;

const PLATFORM = `exports.play = async (url) => {
  const accept = 'application/json, text/event-stream';
  const headers = { 'content-type': 'application/json', accept };
  const post = async (message) => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    const reply = await fetch(url, { method: 'POST', headers, body });
    await reply.text();
    return reply;
  };
  const clientInfo = { name: 'made-up', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const hello = await post({ id: 1, method: 'initialize', params });
  headers['mcp-session-id'] = hello.headers.get('mcp-session-id');
  headers['mcp-protocol-version'] = '2025-11-25';
  await post({ method: 'notifications/initialized' });
  await post({ id: 2, method: 'tools/call', params: { name: 'increment', arguments: { by: 3 } } });
  const answer = { answer: 'The counter shows 3.' };
  await post({ id: 3, method: 'tools/call', params: { name: 'submit_answer', arguments: answer } });
};
`;

/** Writes the package of the agent into a folder of packages. @returns the path of its program. */
export function writeAgent(modules: string): string {
  const folder = join(modules, '@made-up/agent');
  writeFile(join(folder, 'package.json'), JSON.stringify({ name: '@made-up/agent', version: VERSION }));
  return writeProgram(join(folder, 'bin/agent.js'), PROGRAM);
}

/** Writes the package for its platform, which the agent finds by its name alone. */
export function writePlatform(modules: string): string {
  const folder = join(modules, '@made-up/agent-linux');
  writeFile(join(folder, 'package.json'), JSON.stringify({ name: '@made-up/agent-linux', version: VERSION }));
  writeFile(join(folder, 'index.js'), PLATFORM);
  return folder;
}

/** A global installation of npm at a prefix. @returns its folder of programs. */
export function installWithNpm(prefix: string): string {
  const modules = join(prefix, 'lib/node_modules');
  writeAgent(modules);
  // npm puts optional packages of a global one below it.
  writePlatform(join(modules, '@made-up/agent/node_modules'));
  return dirname(link(join(prefix, 'bin/made-up'), '../lib/node_modules/@made-up/agent/bin/agent.js'));
}

/** A link with the folders above it. */
export function link(path: string, target: string): string {
  mkdirSync(dirname(path), { recursive: true });
  symlinkSync(target, path);
  return path;
}

export function writeProgram(path: string, text: string): string {
  writeFile(path, text);
  chmodSync(path, 0o755);
  return path;
}

export function writeFile(path: string, text: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
}
