import { z } from 'zod';

/**
 * An agent of the configuration: `agents.<name>` (contract section 8, "Agents as commands"). `{prompt}`, `{mcp_config}`,
 * `{mcp_url}` and `{model}` are filled in, wherever they stand in `command` and `env`.
 */
export const agentEntrySchema = z.strictObject({
  command: z.array(z.string().min(1)).min(1),
  /** `exec`: plays when it is started, and has answered when it ends. `acp`: is asked over standard input and output. */
  protocol: z.enum(['exec', 'acp']).default('exec'),
  /** The protocol that it asks its model by; `none`: it brings its own, and no model call is seen. */
  needs: z.enum(['openai', 'anthropic', 'gemini', 'none']).default('openai'),
  env: z.record(z.string(), z.string()).default({}),
  /** Part of what an evaluation is known by. */
  version: z.string().min(1).max(100).optional(),
  /** Files and folders that it may read in its sandbox, beside its own program. Our choice. */
  readable: z.array(z.string().min(1)).default([]),
});
export type AgentEntry = z.output<typeof agentEntrySchema>;

export type AgentNeeds = AgentEntry['needs'];

/** An agent that can be started here. */
export interface AgentDefinition extends Omit<AgentEntry, 'version' | 'command'> {
  readonly name: string;
  /** With its templates; the first is a name on the `PATH` or an absolute path. */
  readonly command: readonly [string, ...string[]];
  readonly version: string | null;
  /** Whose configuration is in its home: that of an agent that is known by the name of its program. */
  readonly known: KnownAgent | null;
}

/** Agents that are known by name when their command is installed. */
export const KNOWN_AGENTS = ['claude', 'codex', 'gemini', 'opencode'] as const;
export type KnownAgent = (typeof KNOWN_AGENTS)[number];

/** Before a command line that speaks the Agent Client Protocol: `acp:gemini --acp`. */
export const ACP_PREFIX = 'acp:';
