/**
 * Milliseconds between two runs of background loops, two looks at something that others change, or two lines of progress.
 * Events of this process wake the loops at once.
 */
export const PERIODS_MS = {
  /** New queue entries of other processes, and expired leases. */
  queue: 1_000,
  /** Accepted runs without a queue entry, because a Redis may have been emptied. */
  forgottenRuns: 15_000,
  /** Sandboxes whose process is gone. */
  sandboxes: 60_000,
  /** Runs played here that another process asks to cancel. */
  cancelRequests: 3_000,
  /** Attempts that may start, while an evaluation runs. */
  evaluations: 250,
  /** Attempts that may start, while no evaluation runs. */
  idleEvaluations: 1_000,
  /** Settings of the evaluations whose attempts are played here. */
  evaluationSettings: 1_000,
  /** Signs of life of the reservations of a budget. */
  reservations: 5_000,
  /** Limits of a gateway, which workers share. */
  gatewayLimits: 1_000,
  /** The end of a run that a request waits for. */
  ends: 200,
  /** The same, when this process is notified of most ends. */
  hintedEnds: 500,
  /** Training jobs whose next step is due. */
  trainingJobs: 1_000,
  /** Signs of life of a training job. A cancel is noticed in the same period. */
  trainingLease: 2_000,
  /** Signs of life of the sessions and seats in this process. */
  signsOfLife: 15_000,
  /** Sessions and seats whose servers are gone. */
  orphans: 30_000,
  /** Seats and episodes that have been idle for too long. */
  idleSessions: 5_000,
  /** HTTP sessions that have been idle for too long. This is the longest period. */
  idleConnections: 60_000,
  /** Comments on an open event stream. */
  keepAlive: 10_000,
  /** Pings on an open WebSocket. */
  pings: 30_000,
  /** Reports of event loop turns to the thread that renews leases. */
  turns: 1_000,
  /** New events of a trace or a job that another process writes. */
  follow: 500,
  /** Attempts that workers are ending, before their evaluation is deleted. */
  removals: 100,
  /** The evaluations that prove a trained model. */
  proofs: 1_000,
  /** The begin and the end of a training program. */
  trainingProgram: 50,
  /** Reports of a process that holds many sessions. */
  silence: 500,
  /** Processes that an environment has left behind, until they have ended. */
  leftProcesses: 100,
  /** A line of an agent's output waits so long for more lines of the same record. */
  agentOutput: 500,
  /** Hints of new work to other processes. Each is a commit, and other commits of the server wait for it. */
  hints: 10,
  /** The connection to a Redis. */
  queueConnection: 5_000,
  /** Parked queue entries, by a worker without limits. */
  parkedEntries: 1_000,
  /** Progress events of a dataset that is built. */
  datasetProgress: 1_000,
  /** Lines of a dataset's progress. */
  datasetLines: 2_000,
  /** A regrade that a command follows. */
  regrades: 300,
  /** The runs of a detached command, until a worker takes one. */
  takenRuns: 100,
  /** Lines of an evaluation's progress without a terminal. Their period grows, so that a log of hours stays readable. */
  evaluationLines: 1_000,
  longestEvaluationLines: 60_000,
  /** Lines of a check's progress without a terminal. CI stops jobs that are silent for long. */
  checkLines: 30_000,
  /** Seconds and tables on a terminal. */
  redraws: 1_000,
  /** The line of a check on a terminal. */
  checkRedraws: 100,
  /** Memory of the sandboxes that are processes of this machine. Their disk is measured in each tenth look. */
  sandboxUse: 200,
  /** Keys of stream readers. A revoked key must stop working within 5 s (contract section 3, "Keys"). */
  permissions: 2_000,
} as const;

/** Milliseconds without a sign of life after which a process counts as gone. Each is several periods long. */
export const GONE_AFTER_MS = {
  /** A process that holds sessions, seats or training jobs. */
  owner: 60_000,
  /** A worker that has reserved a part of a budget. */
  reservation: 30_000,
  /** A worker that shares the limits of a gateway. */
  gatewayUser: 10_000,
} as const;
