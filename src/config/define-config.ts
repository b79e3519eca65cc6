import type { Config } from './config-schema.ts';

// The schema is elsewhere: an environment has no use for it, and starts faster without.
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
 * their own; `store` and `queue` are addresses as those of
 * `PROCTOR_DATABASE_URL` and `PROCTOR_QUEUE_URL`, which win; `redact: false` stores traces with the secrets that they hold.
 */
export function defineConfig(config: Config): Config {
  return config;
}
