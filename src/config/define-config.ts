import { z } from 'zod';

const textMapSchema = z.record(z.string(), z.string());

/** How `proctor.config.ts` names an environment: a module's path, a program that serves MCP over stdio, or a URL. */
const environmentEntrySchema = z.union([
  z.string().min(1),
  z.strictObject({
    command: z.string().min(1),
    args: z.array(z.string()).default([]),
    env: textMapSchema.optional(),
    cwd: z.string().optional(),
  }),
  z.strictObject({ url: z.url(), headers: textMapSchema.optional(), harnessKey: z.string().min(1).optional() }),
]);

const portSchema = z.int().min(0).max(65_535);

export const configSchema = z.strictObject({
  environments: z.record(z.string().min(1), environmentEntrySchema).default({}),
  /** By a pattern of model names (`*` stands for any characters); the first that matches is used. */
  gateways: z
    .record(z.string().min(1), z.strictObject({ url: z.url(), apiKey: z.string().min(1).optional() }))
    .default({}),
  store: z.string().min(1).optional(),
  queue: z.string().min(1).optional(),
  ports: z.strictObject({ runService: portSchema.optional(), scenarioServer: portSchema.optional() }).default({}),
});

/** What `proctor.config.ts` may say, all of it optional. */
export type Config = z.input<typeof configSchema>;
export type ParsedConfig = z.output<typeof configSchema>;

/**
 * Types the default export of `proctor.config.ts` (contract section 5).
 *
 * `environments` maps names to a module's path (from the file's directory), `{ command, args }` or `{ url, headers }`;
 * `gateways` maps patterns of model names to `{ url, apiKey }`; `store` and `queue` are addresses as those of
 * `PROCTOR_DATABASE_URL` and `PROCTOR_QUEUE_URL`, which win.
 */
export function defineConfig(config: Config): Config {
  return config;
}
