/** Tool, hub and scenario names (contract section 1). */
export const NAME_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;

/** 32 lowercase hex digits: a W3C trace id. */
export const TRACE_ID_PATTERN = /^[0-9a-f]{32}$/;

/** Hubs that are always the harness's, by name. */
export const HARNESS_HUBS: ReadonlySet<string> = new Set(['setup', 'evaluate', 'evaluation', 'solution']);

/** Keys of `_meta` that Proctor reads and writes. */
export const META = {
  audience: 'svc/audience',
  harnessKey: 'svc/harness_key',
  sessionId: 'svc/session_id',
  /** In the result of `initialize`: how many sessions may share one process of the environment. */
  sessionsPerProcess: 'svc/sessions_per_process',
  /** On a call of the `solution` hub: the tool results so far, of a solution that is a generator. Our choice. */
  solutionResults: 'svc/solution_results',
  /** On the list of scenarios, for a harness: those whose `tools` fit no tool. Our choice. */
  scenarioWarnings: 'svc/scenario_warnings',
  /** On a call that one process of ours passes on to another: what its HTTP headers say of its arguments. Our choice. */
  paramHeaders: 'svc/param_headers',
  /** On setup: the seed of the session, an integer, which the author's code finds as `ctx.seed`. */
  seed: 'svc/seed',
  /** In the result of `initialize`: true where the author says that tools reach the machine itself. */
  unsandboxed: 'svc/unsandboxed',
  /** On `evaluate` of a scenario with a user: the texts between agent and user. Our choice. */
  conversation: 'svc/conversation',
  /** On a sampling request: what it is for, such as `judge`. */
  purpose: 'svc/purpose',
  /** On a sampling request for a judge: rubric, scale, votes, model and context. The message is the material. */
  judge: 'svc/judge',
  /** In `initialize` of a connection that one environment opens to another: how many lie before it. Our choice. */
  connectionDepth: 'svc/connection_depth',
} as const;

/** Environment variables that an environment's process reads. */
export const PROCESS_VARIABLES = {
  harnessKey: 'PROCTOR_HARNESS_KEY',
  harnessKeyFd: 'PROCTOR_HARNESS_KEY_FD',
  protocolFd: 'PROCTOR_PROTOCOL_FD',
  transport: 'PROCTOR_TRANSPORT',
  port: 'PROCTOR_PORT',
  /** The parent that reloads environments is at this descriptor: it says when to load, and takes reports. */
  developmentFd: 'PROCTOR_DEVELOPMENT_FD',
  hostFd: 'PROCTOR_HOST_FD',
  /** Marks what belongs to a run, so that it is found when the run is over; no secret. */
  run: 'PROCTOR_RUN',
} as const;

export const SCENARIOS_URI = 'svc://scenarios';

/** The tasks that a scenario declares: the harness's alone. */
export function tasksUri(scenario: string): string {
  return `svc://tasks/${scenario}`;
}

export const DEFAULT_PORTS = { environment: 8765, runService: 8320, scenarioServer: 8321 } as const;

/** `step` of tool calls that belong to no step: those of an agent whose model calls nobody here sees. */
export const OUTSIDE_STEPS = 0;

export const MAX_STEPS = { default: 100, maximum: 500 } as const;

/** How long a SIGTERM may take, in milliseconds. */
export const SHUTDOWN_GRACE_MS = { service: 10_000, environment: 5_000 } as const;
