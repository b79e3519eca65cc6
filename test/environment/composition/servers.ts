import { fileURLToPath } from 'node:url';
import type { CommandTarget } from '../../../src/environment/authoring/connection.ts';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const packages = '../../../node_modules/@modelcontextprotocol';

export const EVERYTHING = path(`${packages}/server-everything/dist/index.js`);
const FILESYSTEM = path(`${packages}/server-filesystem/dist/index.js`);

/** Third-party servers, as processes of their own. */
export const everything: CommandTarget = { command: process.execPath, args: [EVERYTHING] };
export const filesystem = (folder: string): CommandTarget => ({
  command: process.execPath,
  args: [FILESYSTEM, folder],
});
export const odd = (mode: string): CommandTarget => ({
  command: process.execPath,
  args: [path('fixtures/odd-server.mjs'), mode],
});
