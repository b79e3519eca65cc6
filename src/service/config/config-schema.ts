import { z } from 'zod';
import type { EngineName } from '../../environment/sandbox/engine.ts';
import { DIALECT_NAMES } from '../../models/dialects/dialect.ts';
import { agentEntrySchema, variablesSchema } from '../../rollout/agents/agent-definition.ts';
import { trainerSchema } from '../../training/trainer-config.ts';

const textMapSchema = z.record(z.string(), z.string());

/** Options that all kinds of environments have. */
const limitsSchema = {
  concurrency: z.int().min(1).optional(),
  memoryMiB: z.int().min(0).optional(),
};

/** An environment in `proctor.config.ts`: the path of a module, a command that serves MCP over stdio, or a URL. */
const environmentEntrySchema = z.union([
  z.string().min(1),
  z.strictObject({
    path: z.string().min(1),
    env: variablesSchema.optional(),
    sessionsPerProcess: z.int().min(1).optional(),
    ...limitsSchema,
  }),
  z.strictObject({
    command: z.string().min(1),
    args: z.array(z.string()).default([]),
    env: variablesSchema.optional(),
    cwd: z.string().optional(),
    ...limitsSchema,
  }),
  z.strictObject({
    url: z.url(),
    headers: textMapSchema.optional(),
    harnessKey: z.string().min(1).optional(),
    concurrency: limitsSchema.concurrency,
  }),
]);

/** US dollars per million tokens. */
const priceSchema = z.number().min(0);

const gatewaySchema = z.strictObject({
  url: z.url(),
  apiKey: z.string().min(1).optional(),
  /** Protocols of the gateway. Calls of agents in one of these are forwarded unchanged. Default: `chat`. */
  dialects: z.array(z.enum(DIALECT_NAMES)).min(1).optional(),
  prices: z.strictObject({ input: priceSchema, cached: priceSchema.optional(), output: priceSchema }).optional(),
  maxOutputTokens: z.int().min(1).optional(),
});

/** The engines, as `ENGINE_NAMES` has them: a command that needs no sandbox does not load that file. */
export const SANDBOX_ENGINES = ['bubblewrap', 'docker', 'kubernetes', 'none'] as const satisfies readonly EngineName[];

/** Settings of sandboxes of environments. */
const sandboxSchema = z.strictObject({
  engine: z.enum(SANDBOX_ENGINES).optional(),
  docker: z.strictObject({ host: z.string().min(1).optional() }).optional(),
  kubernetes: z
    .strictObject({ namespace: z.string().min(1).optional(), context: z.string().min(1).optional() })
    .optional(),
});

const portSchema = z.int().min(0).max(65_535);

export const configSchema = z.strictObject({
  environments: z.record(z.string().min(1), environmentEntrySchema).default({}),
  /** Gateways by pattern of model names, where `*` matches any characters. The first match is used. */
  gateways: z.record(z.string().min(1), gatewaySchema).default({}),
  /** External agent programs, by name. */
  agents: z.record(z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/), agentEntrySchema).default({}),
  /** Trainers, by the `provider` of a training job. */
  trainers: z.record(z.string().min(1).max(200), trainerSchema).default({}),
  /** Models for the harness: `user` for simulated users, `judge` for judges. */
  models: z.strictObject({ user: z.string().min(1).optional(), judge: z.string().min(1).optional() }).default({}),
  /** The engine that makes sandboxes, and where it is. */
  sandbox: sandboxSchema.default({}),
  store: z.string().min(1).optional(),
  queue: z.string().min(1).optional(),
  ports: z.strictObject({ runService: portSchema.optional(), scenarioServer: portSchema.optional() }).default({}),
  redact: z.boolean().default(true),
});

/** The contents of `proctor.config.ts`. All fields are optional. */
export type Config = z.input<typeof configSchema>;
export type ParsedConfig = z.output<typeof configSchema>;
