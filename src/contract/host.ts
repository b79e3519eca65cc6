import { z } from 'zod';

/**
 * JSON lines between a host, which is a process that holds many sessions of an environment, and the process that
 * started it. They have a descriptor of their own. Messages of the sessions go over a socket.
 */

/** The first line to a host: the socket to listen on, and the secret that each connection has to begin with. */
export const hostStartSchema = z.object({
  kind: z.literal('start'),
  socket: z.string().min(1),
  secret: z.string().min(16),
  /** Default: the number that the environment declares. */
  sessions_per_process: z.int().min(1).optional(),
});

/** A later line to a host: take no new session, and end after the last one. */
export const hostDrainSchema = z.object({ kind: z.literal('drain') });

/** The second line of a connection, after the secret: its session, and the harness key of that session. */
export const hostedSessionSchema = z.object({
  /** The starting process's name of the session, which reports repeat. It is not a secret. */
  session: z.string().min(1).max(128),
  harness_key: z.string().min(16).max(512),
});

/** A line from a host. */
export const hostReportSchema = z.discriminatedUnion('kind', [
  /** The host listens. Name, version and limit are those of the environment. */
  z.object({
    kind: z.literal('listening'),
    name: z.string(),
    version: z.string(),
    sessions_per_process: z.int().min(1),
  }),
  /** Sent once a second by a thread that a busy loop does not block: lag of the event loop (p99 of 10 s), memory. */
  z.object({
    kind: z.literal('gauges'),
    sessions: z.int().min(0),
    lag_ms: z.number().min(0),
    resident_bytes: z.number().min(0),
  }),
  /** The host ends because author code failed, in `session`; null where the session is unknown. */
  z.object({ kind: z.literal('failed'), session: z.string().nullable(), text: z.string() }),
  /** The host is killed because its event loop was blocked for `ms` milliseconds. */
  z.object({ kind: z.literal('stuck'), ms: z.number(), cpu_ms: z.number() }),
]);

export type HostStart = z.infer<typeof hostStartSchema>;
export type HostedSession = z.infer<typeof hostedSessionSchema>;
export type HostReport = z.infer<typeof hostReportSchema>;

/** Notification to the starting process with a line that the code of a session printed. */
export const PRINTED_METHOD = 'svc/printed';

/** Notification to a session that the starting process shuts down, so that the session runs its shutdown hooks. */
export const SHUTDOWN_METHOD = 'svc/shutdown';

/** Largest number of bytes of a socket path. Systems allow 104 or 108, with a zero at the end. */
export const MAX_SOCKET_PATH_BYTES = 99;
