import { z } from 'zod';
import { agentEntrySchema } from '../agents/agent-definition.ts';
import { DIALECT_NAMES } from '../dialects/dialect.ts';

const textMapSchema = z.record(z.string(), z.string());

/** Options of every environment of the configuration, beside its location. */
const limitsSchema = {
  concurrency: z.int().min(1).optional(),
  memoryMiB: z.int().min(0).optional(),
};

/** How `proctor.config.ts` names an environment: a module's path, a program that serves MCP over stdio, or a URL. */
const environmentEntrySchema = z.union([
  z.string().min(1),
  z.strictObject({
    path: z.string().min(1),
    env: textMapSchema.optional(),
    sessionsPerProcess: z.int().min(1).optional(),
    ...limitsSchema,
  }),
  z.strictObject({
    command: z.string().min(1),
    args: z.array(z.string()).default([]),
    env: textMapSchema.optional(),
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

/** US dollars for a million tokens. */
const priceSchema = z.number().min(0);

const gatewaySchema = z.strictObject({
  url: z.url(),
  apiKey: z.string().min(1).optional(),
  /** Protocols that it speaks; calls of agents at seats go to it as they are in these. Default: `chat` alone. */
  dialects: z.array(z.enum(DIALECT_NAMES)).min(1).optional(),
  prices: z.strictObject({ input: priceSchema, cached: priceSchema.optional(), output: priceSchema }).optional(),
  maxOutputTokens: z.int().min(1).optional(),
});

const portSchema = z.int().min(0).max(65_535);

export const configSchema = z.strictObject({
  environments: z.record(z.string().min(1), environmentEntrySchema).default({}),
  /** By a pattern of model names (`*` stands for any characters); the first that matches is used. */
  gateways: z.record(z.string().min(1), gatewaySchema).default({}),
  /** Programs that play scenarios by a loop of their own, by name. */
  agents: z.record(z.string().regex(/^[A-Za-z0-9][\w.-]{0,63}$/), agentEntrySchema).default({}),
  store: z.string().min(1).optional(),
  queue: z.string().min(1).optional(),
  ports: z.strictObject({ runService: portSchema.optional(), scenarioServer: portSchema.optional() }).default({}),
  redact: z.boolean().default(true),
});

/** The contents of `proctor.config.ts`, all of them optional. */
export type Config = z.input<typeof configSchema>;
export type ParsedConfig = z.output<typeof configSchema>;
