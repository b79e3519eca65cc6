import type { PromptMessage } from '../contract/scenario.ts';
import type { SeatConfigs } from '../contract/seat.ts';

/** A seat as a command is given it: addresses alone, whoever serves them. */
export interface AgentSeat {
  readonly prompt: readonly PromptMessage[];
  readonly system: string | null;
  /** The run's model; null: the agent brings its own. */
  readonly model: string | null;
  readonly mcp: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** With the secret in its path, for clients that take no headers. */
  readonly mcpUrl: string;
  /** Variables that have agents wait for their tools, and the addresses for their model calls. */
  readonly env: Readonly<Record<string, string>>;
  readonly configs: SeatConfigs;
}
