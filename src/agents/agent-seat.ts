import type { PromptMessage } from '../contract/scenario.ts';
import type { SeatConfigs } from '../contract/seat.ts';

/** Addresses for the model calls of one seat. The key is the secret of the seat. */
export interface ModelAddresses {
  readonly api_key: string;
  /** With `/v1`. */
  readonly openai_base_url: string;
  /** Without `/v1`. */
  readonly anthropic_base_url: string;
  /** Without the path of a version. */
  readonly gemini_base_url: string;
}

/** A seat as a command is given it: addresses alone, whoever serves them. */
export interface AgentSeat {
  readonly prompt: readonly PromptMessage[];
  readonly system: string | null;
  /** The run's model; null: the agent brings its own. */
  readonly model: string | null;
  readonly mcp: { readonly url: string; readonly headers: Readonly<Record<string, string>> };
  /** With the secret in its path, for clients that take no headers. */
  readonly mcpUrl: string;
  /** Null: the seat takes no model calls. */
  readonly addresses: ModelAddresses | null;
  /** Variables that have agents wait for their tools. */
  readonly env: Readonly<Record<string, string>>;
  readonly configs: SeatConfigs;
}
