import { z } from 'zod';

/** Environment variables of a process. An undefined value, as in `process.env.NAME`, is left out. */
export const variablesSchema = z
  .record(z.string(), z.string().optional())
  .transform((variables) =>
    Object.fromEntries(
      Object.entries(variables).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    ),
  );

/**
 * An agent of the configuration: `agents.<name>` (contract section 8, "Agents as commands"). Proctor replaces
 * `{prompt}`, `{mcp_config}`, `{mcp_url}` and `{model}` everywhere in `command` and `env`.
 */
export const agentEntrySchema = z.strictObject({
  command: z.array(z.string().min(1)).min(1),
  /** `exec`: the agent plays from its start to its exit. `acp`: it gets the prompt over standard input and output. */
  protocol: z.enum(['exec', 'acp']).default('exec'),
  /** Protocol of the agent's model calls. `none`: the agent has its own model, and Proctor sees no model call. */
  needs: z.enum(['openai', 'anthropic', 'gemini', 'none']).default('openai'),
  env: variablesSchema.default({}),
  /** Version of the agent, which is part of an evaluation's identity. */
  version: z.string().min(1).max(100).optional(),
  /** Files and folders that the agent may read in its sandbox, beside its own program. */
  readable: z.array(z.string().min(1)).default([]),
});
export type AgentEntry = z.output<typeof agentEntrySchema>;

export type AgentNeeds = AgentEntry['needs'];

/** An agent that can be started here. */
export interface AgentDefinition extends Omit<AgentEntry, 'version' | 'command'> {
  readonly name: string;
  /** Command with its templates. The first word is a name on the `PATH` or an absolute path. */
  readonly command: readonly [string, ...string[]];
  readonly version: string | null;
  /** Known agent that the program's name identifies. Its configuration is put into the home of the process. */
  readonly known: KnownAgent | null;
}

/** Agents that need no configuration once their command is installed. */
export const KNOWN_AGENTS = ['claude', 'codex', 'gemini', 'opencode'] as const;
export type KnownAgent = (typeof KNOWN_AGENTS)[number];

/** Prefix of a command line that speaks the Agent Client Protocol: `acp:gemini --acp`. */
export const ACP_PREFIX = 'acp:';
