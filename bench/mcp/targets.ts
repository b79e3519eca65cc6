import { fileURLToPath } from 'node:url';

/** A server under load: how it is started, and how it is spoken to. */
export interface Target {
  readonly name: string;
  readonly transport: 'stdio' | 'http';
  /** `none` for the floor, which needs no handshake. */
  readonly protocol: 'session' | '2026-07-28' | 'none';
  /** Arguments of `node`. */
  readonly program: readonly string[];
  /** Of an HTTP server; `/mcp` by default. */
  readonly path?: string;
}

const here = (file: string) => fileURLToPath(new URL(`./servers/${file}`, import.meta.url));
const peer = (file: string) => fileURLToPath(new URL(`../../test/referees/peers/${file}`, import.meta.url));

const ours = [here('proctor.mjs')];

/** One interleaved run: ours, what it is judged by, and a floor. Peers are those of `npm run referees`. */
export const TARGETS: readonly Target[] = [
  { name: 'floor, stdio', transport: 'stdio', protocol: 'none', program: [here('floor.mjs')] },
  { name: 'SDK v2, stdio', transport: 'stdio', protocol: 'session', program: [peer('sdk-stdio.mjs')] },
  { name: 'Proctor, stdio', transport: 'stdio', protocol: 'session', program: ours },
  { name: 'SDK v2, stdio 2026-07-28', transport: 'stdio', protocol: '2026-07-28', program: [peer('sdk-stdio.mjs')] },
  { name: 'Proctor, stdio 2026-07-28', transport: 'stdio', protocol: '2026-07-28', program: ours },
  { name: 'FastMCP, stdio', transport: 'stdio', protocol: 'session', program: [peer('fastmcp.mjs')] },
  { name: 'floor, HTTP', transport: 'http', protocol: 'none', program: [here('floor.mjs')] },
  { name: 'SDK v2 core, bare HTTP', transport: 'http', protocol: 'session', program: [here('core.mjs')] },
  { name: 'SDK v2 stock, HTTP session', transport: 'http', protocol: 'session', program: [peer('sdk-http.mjs')] },
  { name: 'Proctor, HTTP session', transport: 'http', protocol: 'session', program: ours },
  { name: 'SDK v2 stock, HTTP 2026-07-28', transport: 'http', protocol: '2026-07-28', program: [peer('sdk-http.mjs')] },
  { name: 'Proctor, HTTP 2026-07-28', transport: 'http', protocol: '2026-07-28', program: ours },
  { name: 'FastMCP, HTTP session', transport: 'http', protocol: 'session', program: [peer('fastmcp.mjs')] },
];

/** For the time of a cold start alone: an environment in TypeScript, as `tsx` runs it. */
export const FROM_TYPESCRIPT: Target = {
  name: 'Proctor, stdio, from TypeScript',
  transport: 'stdio',
  protocol: 'session',
  program: ['--import', 'tsx', here('proctor.ts')],
};
