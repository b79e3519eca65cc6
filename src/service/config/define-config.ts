import type { Config } from './config-schema.ts';

// This file does not import the schema, so that environments start faster.
/**
 * Types the default export of `proctor.config.ts` (contract section 5).
 *
 * `environments` maps names to a module's path (from the file's directory) or `{ path }`, `{ command, args }` or
 * `{ url, headers }`, each with `concurrency` (runs of it that a worker executes at once) and, for what is a process here,
 * `memoryMiB` (of all its processes together; 0: no limit), and for a module `sessionsPerProcess` (sessions that may share
 * one process; wins over what its code says);
 * `gateways` maps patterns of model names to `{ url, apiKey, dialects, prices, maxOutputTokens }`, `prices` being `{ input, cached, output }`
 * in US dollars for a million tokens, `dialects` a list of `chat`, `responses`, `messages` and `gemini`: the protocols that it speaks;
 * `agents` maps names to `{ command, protocol, needs, env, version, readable }`, programs that play scenarios by a loop of
 * their own; `trainers` maps names to `{ kind, url, apiKey }` (`openai`, `together`, `fireworks`) or `{ kind: 'command', command, env }`,
 * each with `deploy` and `gateway`; `models` names those that the harness calls: `{ user, judge }`; `store` and `queue` are addresses as those of
 * `PROCTOR_DATABASE_URL` and `PROCTOR_QUEUE_URL`, which win; `redact: false` stores traces with the secrets that they hold.
 *
 * @example
 * ```ts
 * export default defineConfig({
 *   gateways: {
 *     'claude-*': { url: 'https://gateway.example/v1', apiKey: process.env.CLAUDE_KEY },
 *     '*': { url: 'http://127.0.0.1:11434/v1' },
 *   },
 *   environments: {
 *     shop: './elsewhere/shop/environment.ts',
 *     desk: { command: 'python', args: ['desk_server.py'] },
 *     remote: {
 *       url: 'https://desk.example/mcp',
 *       headers: { authorization: `Bearer ${process.env.DESK_TOKEN}` },
 *       harnessKey: process.env.DESK_HARNESS_KEY,
 *     },
 *   },
 * });
 * ```
 */
export function defineConfig(config: Config): Config {
  return config;
}
