/** The account of the command line, and of a service that requires no keys. */
export const LOCAL_ACCOUNT = 'local';

/** Tool, hub and scenario names (contract section 1). */
export const NAME_PATTERN = /^[A-Za-z0-9_-]{1,64}$/;

/** 32 lowercase hex digits: a W3C trace id. */
export const TRACE_ID_PATTERN = /^[0-9a-f]{32}$/;

/** Names of hubs that only the harness may call. */
export const HARNESS_HUBS: ReadonlySet<string> = new Set(['setup', 'evaluate', 'evaluation', 'solution']);

/** Keys of `_meta` that Proctor reads and writes. */
export const META = {
  audience: 'svc/audience',
  harnessKey: 'svc/harness_key',
  sessionId: 'svc/session_id',
  /** In the result of `initialize` and `server/discover`: number of sessions that may share one process. */
  sessionsPerProcess: 'svc/sessions_per_process',
  /** On a call of the `solution` hub: the tool results so far, for a solution that is a generator. Our choice. */
  solutionResults: 'svc/solution_results',
  /** On the list of scenarios, for a harness: scenarios whose `tools` pattern matches no tool. Our choice. */
  scenarioWarnings: 'svc/scenario_warnings',
  /** On a call that one Proctor process passes on to another: the arguments that its HTTP headers carry. Our choice. */
  paramHeaders: 'svc/param_headers',
  /** On setup: the seed of the session, an integer. The author's code reads it as `ctx.seed`. */
  seed: 'svc/seed',
  /** In the result of `initialize`: true where the author declares that tools act on the machine itself. */
  unsandboxed: 'svc/unsandboxed',
  /** On `evaluate` of a scenario with a user: the messages between agent and user. Our choice. */
  conversation: 'svc/conversation',
  /** On a sampling request: its purpose, such as `judge`. */
  purpose: 'svc/purpose',
  /**
   * On a sampling request for a judge: rubric, scale, votes, model and context. The message is the material to judge.
   */
  judge: 'svc/judge',
  /**
   * In the result of `initialize`: true where sessions have sandboxes. On a call of the hub `setup`: true makes the
   * sandboxes and runs no setup. On its result, and on that of `evaluate`: facts for the trace. Our choice.
   */
  sandboxes: 'svc/sandboxes',
  /** On that call: the id of the run, for the labels of its sandboxes. */
  run: 'svc/run',
  /** On the result of any call, for a harness: how a sandbox of the session was lost. Our choice. */
  sandboxFault: 'svc/sandbox_fault',
  /** On the result of any call, for a harness: destinations that the proxies of sandboxes have refused. Our choice. */
  sandboxRefusals: 'svc/sandbox_refusals',
  /** On the list of scenarios, where the request has `sandboxes`: why no sandbox can be made. Our choice. */
  sandboxProblem: 'svc/sandbox_problem',
  /** In `initialize` of a connection between environments: the number of connections before it. Our choice. */
  connectionDepth: 'svc/connection_depth',
} as const;

/** Environment variables that the process of an environment reads. */
export const PROCESS_VARIABLES = {
  harnessKey: 'PROCTOR_HARNESS_KEY',
  harnessKeyFd: 'PROCTOR_HARNESS_KEY_FD',
  protocolFd: 'PROCTOR_PROTOCOL_FD',
  transport: 'PROCTOR_TRANSPORT',
  port: 'PROCTOR_PORT',
  /** Descriptor of the parent that reloads environments. The parent says when to load, and reads reports. */
  developmentFd: 'PROCTOR_DEVELOPMENT_FD',
  hostFd: 'PROCTOR_HOST_FD',
  /** The engine of sandboxes, by its name or as settings in JSON. */
  sandbox: 'PROCTOR_SANDBOX',
  /** Marks the processes of a run, so that they are found when the run is over. It is not a secret. */
  run: 'PROCTOR_RUN',
} as const;

export const SCENARIOS_URI = 'svc://scenarios';

/** Address of the tasks that a scenario declares. Only the harness may read it. */
export function tasksUri(scenario: string): string {
  return `svc://tasks/${scenario}`;
}

export const DEFAULT_PORTS = { environment: 8765, runService: 8320, scenarioServer: 8321 } as const;

/** `step` of tool calls that belong to no step: the agent's model calls do not pass through Proctor. */
export const OUTSIDE_STEPS = 0;

export const MAX_STEPS = { default: 100, maximum: 500 } as const;

/** Milliseconds that a process has to end after SIGTERM. */
export const SHUTDOWN_GRACE_MS = { service: 10_000, environment: 5_000 } as const;
